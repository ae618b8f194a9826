import { readFile } from 'node:fs/promises';
import type { Json, JsonObject } from '@troupe/protocol';
import { CommandError } from '../failure.ts';
import { UsageError } from '../terminal.ts';
import type { Surroundings } from './command.ts';

export async function textAt(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const problem = error.code === 'ENOENT' ? 'there is no such file' : error.message;
    throw new CommandError('file_unreadable', `${path} cannot be read: ${problem}.`);
  });
}

/** What is in a file of JSON or YAML. */
export async function documentAt(path: string): Promise<unknown> {
  const text = await textAt(path);
  try {
    return JSON.parse(text);
  } catch {
    // The server, which knows YAML, takes a while to load: it is not, for JSON.
    const { readDocument } = await import('@troupe/server/parts');
    try {
      return readDocument(text);
    } catch (error) {
      throw new CommandError('file_unreadable', `${path}: ${(error as Error).message}`);
    }
  }
}

/** What is asked: in words, or in a file, where an object is one. */
export async function inputOf({
  words,
  options,
}: Pick<Surroundings, 'words' | 'options'>): Promise<string | JsonObject> {
  const said = words.slice(1).join(' ');
  if (options.file === undefined) return said;
  if (said !== '') throw new UsageError('the input is given in words and with --file');
  const text = await textAt(options.file);
  try {
    const value: Json = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value;
  } catch {
    // A text then.
  }
  return text;
}

/**
 * System parameters, in such ways that their values need stand in no history of a shell: `name=@file`, `name=env:VARIABLE`, or a file with all of
 * them.
 */
export async function systemParamsOf({
  options,
  terminal,
}: Pick<Surroundings, 'options' | 'terminal'>): Promise<JsonObject> {
  const path = options['system-file'];
  const params: JsonObject = path === undefined ? {} : objectIn(path, await textAt(path));
  for (const each of options.system ?? []) {
    const at = each.indexOf('=');
    if (at < 1)
      throw new UsageError('--system must be <name>=<value>, <name>=@<file> or <name>=env:<variable>');
    const [name, value] = [each.slice(0, at), each.slice(at + 1)];
    params[name] = await givenBy(value, terminal.env);
  }
  return params;
}

async function givenBy(given: string, env: Record<string, string | undefined>): Promise<string> {
  if (given.startsWith('@')) return (await textAt(given.slice(1))).replace(/\r?\n$/, '');
  if (!given.startsWith('env:')) return given;
  const variable = given.slice('env:'.length);
  const value = env[variable];
  if (value === undefined) throw new UsageError(`--system names the variable ${variable}, which is not set`);
  return value;
}

function objectIn(path: string, text: string): JsonObject {
  try {
    const value: Json = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value;
  } catch {
    // Said below.
  }
  // What is in it is not told: it is secret.
  throw new CommandError('file_unreadable', `${path} is no JSON object with system parameters.`);
}
