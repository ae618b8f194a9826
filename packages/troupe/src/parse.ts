import { parseArgs } from 'node:util';
import { closest } from './closest.ts';
import { UsageError } from './terminal.ts';

const OPTIONS = {
  json: { type: 'boolean' },
  url: { type: 'string' },
  key: { type: 'string' },
  session: { type: 'string' },
  chat: { type: 'string' },
  model: { type: 'string' },
  prompt: { type: 'string' },
  format: { type: 'string' },
  status: { type: 'string' },
  agent: { type: 'string', multiple: true },
  limit: { type: 'string' },
  notes: { type: 'string' },
  of: { type: 'string' },
  title: { type: 'string' },
  name: { type: 'string' },
  description: { type: 'string' },
  provider: { type: 'string' },
  'base-url': { type: 'string' },
  'api-key-env': { type: 'string' },
  'api-key-stdin': { type: 'boolean' },
  default: { type: 'boolean' },
  'input-price': { type: 'string' },
  'output-price': { type: 'string' },
  'context-tokens': { type: 'string' },
  'max-output-tokens': { type: 'string' },
  'image-input': { type: 'string' },
  kind: { type: 'string' },
  scopes: { type: 'string' },
  expires: { type: 'string' },
  user: { type: 'string', multiple: true },
  as: { type: 'string' },
  type: { type: 'string' },
  role: { type: 'string' },
  policy: { type: 'string' },
  ordering: { type: 'string' },
  search: { type: 'string' },
  follow: { type: 'boolean' },
  arguments: { type: 'string' },
  output: { type: 'string' },
  reason: { type: 'string' },
  text: { type: 'string' },
  for: { type: 'string' },
  capabilities: { type: 'string' },
  tools: { type: 'string' },
  approvals: { type: 'string' },
  instruction: { type: 'string' },
  'run-after': { type: 'string' },
  'scheduled-at': { type: 'string' },
  cron: { type: 'string' },
  'time-zone': { type: 'string' },
  header: { type: 'string', multiple: true },
  env: { type: 'string', multiple: true },
  allow: { type: 'string' },
  yes: { type: 'boolean' },
  file: { type: 'string' },
  system: { type: 'string', multiple: true },
  'system-file': { type: 'string' },
  'network-version': { type: 'string' },
  wait: { type: 'boolean' },
  stream: { type: 'boolean' },
  background: { type: 'boolean' },
  delegated: { type: 'boolean' },
  iterations: { type: 'string' },
  concurrency: { type: 'string' },
  failed: { type: 'boolean' },
  prune: { type: 'boolean' },
  document: { type: 'string' },
  tokens: { type: 'string' },
  cost: { type: 'string' },
  unit: { type: 'string' },
  'on-exhausted': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

export type OptionName = keyof typeof OPTIONS;

export interface Given {
  words: string[];
  options: {
    [Name in OptionName]?: (typeof OPTIONS)[Name] extends { multiple: true }
      ? string[]
      : (typeof OPTIONS)[Name]['type'] extends 'boolean'
        ? boolean
        : string;
  };
}

/** Options may stand anywhere, before the command too. */
export function parse(args: string[]): Given {
  const { positionals, values, tokens } = parseArgs({
    args,
    options: OPTIONS,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    if (!Object.hasOwn(OPTIONS, name)) {
      const hint = 'Where it is no option, write -- before it.';
      throw new UsageError(
        `there is no option ${rawName}`,
        closest(name, Object.keys(OPTIONS), '--') ?? hint,
      );
    }
    const { type } = OPTIONS[name as OptionName];
    if (type === 'boolean' && value !== undefined) throw new UsageError(`${rawName} takes no value`);
    if (type === 'boolean') continue;
    if (!value) throw new UsageError(`${rawName} needs a value`);
    if (value.startsWith('-') && !inlineValue)
      throw new UsageError(
        `${rawName} needs a value`,
        `Where ${value} is the value, write ${rawName}=${value}`,
      );
  }
  return { words: positionals, options: values as Given['options'] };
}

export function limitOf({ limit = '50' }: Given['options']): number {
  const number = Number(limit);
  if (!Number.isInteger(number) || number < 1 || number > 200)
    throw new UsageError('--limit must be a number from 1 to 200');
  return number;
}

/** Of an option that may be given several times elsewhere. */
export function onceGiven(name: string, given: string[] | undefined): string | undefined {
  if (given && given.length > 1) throw new UsageError(`--${name} can be given once here`);
  return given?.[0];
}

export function numberOf(name: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^\d+(\.\d+)?$/.test(given)) throw new UsageError(`--${name} must be a number`);
  return Number(given);
}

export function yesOrNo(name: string, given: string | undefined): boolean | undefined {
  if (given === undefined) return undefined;
  if (given !== 'yes' && given !== 'no') throw new UsageError(`--${name} must be yes or no`);
  return given === 'yes';
}

/** What stands between commas; "none" is nothing at all. */
export function listOf(name: string, given: string): string[] {
  if (given.trim() === 'none') return [];
  const listed = given.split(',').map((each) => each.trim());
  if (listed.includes('')) throw new UsageError(`--${name} must be names with commas between them, or none`);
  return listed;
}

/** What an option may be. */
export function oneOf<Choice extends string>(
  name: string,
  given: string,
  choices: readonly Choice[],
): Choice {
  return choiceOf(`--${name}`, given, choices);
}

/** The same for anything else that is given. */
export function choiceOf<Choice extends string>(
  what: string,
  given: string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === given);
  if (!found) throw new UsageError(`${what} must be ${choices.join(', ')}`, closest(given, [...choices]));
  return found;
}

/** Whether JSON was asked for, also where the rest is not understood. */
export function wantsJson(args: string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--json');
}
