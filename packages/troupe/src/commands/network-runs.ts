import { type Event, type Invoked, instruction as instructionSchema, type Json } from '@troupe/protocol';
import { InvocationFailedError } from '@troupe/sdk';
import { json, MORE, plain, table } from '../output.ts';
import { limitOf, numberOf, onceGiven } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { inputOf, systemParamsOf } from './given-files.ts';
import { show } from './show.ts';
import { eventLine } from './thread.ts';

/** What shells tell of a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/** Running a network, and asking what it would do. */
export const networkRuns: Record<string, Command> = {
  async invoke(given) {
    const { troupe, options, words } = given;
    const ways = [options.wait, options.stream, options.background].filter(Boolean).length;
    if (ways > 1) throw new UsageError('--wait, --stream and --background exclude each other');
    const input = await inputOf(given);
    if (input === '') throw new UsageError('what is asked is missing', 'Say it, or give it with --file.');
    const network = troupe.network(words[0]!);
    const asked = { input, ...whereOf(given), systemParams: await systemParamsOf(given) };
    if (options.background) return show(given, await network.invoke(asked));
    return followed(given, asked);
  },
  async check(given) {
    const { troupe, terminal, options, words } = given;
    const { version } = whereOf(given);
    const verdict = await troupe.network(words[0]!).check({
      agent: words[1]!,
      instruction: instructionIn(words[2]!),
      delegated: options.delegated ?? false,
      systemParams: await systemParamsOf(given),
      ...(version === undefined ? {} : { version }),
    });
    if (options.json) terminal.out(json(verdict));
    else
      terminal.out(
        plain(verdict.status === 'ok' ? 'ok\n' : `${verdict.status} ${verdict.code}: ${verdict.message}\n`),
      );
    return verdict.status === 'ok' ? 0 : 1;
  },
  async prompt(given) {
    const { troupe, terminal, options, words } = given;
    const delegated = options.delegated ?? false;
    const asked = { input: await inputOf(given), delegated, ...whereOf(given) };
    const told = await troupe.network(words[0]!).prompt(asked);
    if (options.json) return terminal.out(json(told));
    terminal.out(plain(`agent: ${told.agent}\n\n${told.system}\n`));
    for (const message of told.messages) terminal.out(plain(`\n${JSON.stringify(message)}\n`));
    terminal.out(`\n${table(told.tools, ['name', 'description'])}`);
  },
  async runs({ troupe, terminal, options, words }) {
    const { data, nextCursor } = await troupe.network(words[0]!).runs({ limit: limitOf(options) });
    const rows = data.map((run) => ({ ...run, version: run.network.version }));
    const columns = ['id', 'status', 'version', 'agent', 'step', 'createdAt', 'response', 'error'];
    terminal.out(options.json ? json(data) : table(rows, columns));
    if (nextCursor) terminal.err(MORE);
  },
};

type Asked = Parameters<ReturnType<Surroundings['troupe']['network']>['invokeAndWait']>[0];

/** To its end: what happens on `err` where that is wanted, the response on `out`. */
async function followed({ troupe, terminal, options, words }: Surroundings, asked: Asked): Promise<number> {
  const interrupt = new AbortController();
  const undo = terminal.onInterrupt(() => interrupt.abort());
  let run: string | undefined;
  try {
    for await (const item of troupe.network(words[0]!).stream(asked, { signal: interrupt.signal })) {
      if (item.kind === 'event') run = item.event.runId ?? run;
      if (item.kind === 'invoked') return ended(item.invoked, { terminal, options });
      // Nobody else would say why nothing happens.
      if (!options.json && item.kind === 'event') terminal.err(plain(waitingLine(item.event)));
      if (!options.stream) continue;
      if (options.json) terminal.out(`${JSON.stringify(item)}\n`);
      else if (item.kind === 'event') terminal.err(eventLine(item.event, false));
    }
    return 1;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    if (run) terminal.err(`The run goes on: troupe runs show ${run}\n`);
    return INTERRUPTED;
  } finally {
    undo();
  }
}

/** Of a call that somebody outside must settle; empty where there is none. */
function waitingLine({ type, runId, data }: Event): string {
  if (type !== 'tool.waiting' || !['approval', 'client', 'person'].includes(String(data.waitsFor))) return '';
  const list = data.waitsFor === 'client' ? 'troupe inbox --for client' : 'troupe inbox';
  return `The run waits for somebody to settle ${data.tool} (${data.waitsFor}): ${list}\nNobody needs to wait here: troupe runs show ${runId}\n`;
}

function ended(invoked: Invoked, { terminal, options }: Pick<Surroundings, 'terminal' | 'options'>): number {
  if (options.json && options.stream) terminal.out(`${JSON.stringify({ kind: 'invoked', invoked })}\n`);
  else if (options.json) terminal.out(json(invoked));
  if (invoked.status !== 'completed' && !options.json) throw new InvocationFailedError(invoked);
  if (!options.json) terminal.out(responseText(invoked.response));
  return invoked.status === 'completed' ? 0 : 1;
}

/** A message alone as its text. */
function responseText(response: Json): string {
  const { message, ...rest } = (response ?? {}) as { message?: Json };
  if (typeof message === 'string' && Object.keys(rest).length === 0) return plain(`${message}\n`);
  return json(response);
}

/** Which version, and where it begins. */
export function whereOf({ options }: Pick<Surroundings, 'options'>): { version?: number; agent?: string } {
  const version = numberOf('network-version', options['network-version']);
  const agent = onceGiven('agent', options.agent);
  return { ...(version === undefined ? {} : { version }), ...(agent === undefined ? {} : { agent }) };
}

/** The whole instruction, or the action alone. */
function instructionIn(text: string) {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UsageError('<instruction> must be JSON, such as {"type": "RESPOND", "payload": {}}');
  }
  const isAction = value !== null && typeof value === 'object' && 'type' in value;
  const parsed = instructionSchema.safeParse(isAction ? { action: value } : value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`<instruction> is none: ${issue!.path.join('.')} ${issue!.message}`);
}
