import { type JsonObject, sourceTrigger, type TriggerInput, triggerInput } from '@troupe/protocol';
import { inWords } from '../base/index.ts';

export interface Issue {
  path: string;
  message: string;
}

/** A rule in either spelling: ours, or that of files of the source, which begin with `triggerId`. */
export function readRule(
  given: JsonObject,
): { input: TriggerInput; issues: null } | { input: null; issues: Issue[] } {
  if (!Object.hasOwn(given, 'triggerId')) return readAs(triggerInput, given);
  const read = readAs(sourceTrigger, given);
  if (read.input === null) return read;
  const { triggerId, collection, events, condition, url, headers, secretsRef, timeout, retryPolicy } =
    read.input;
  // In milliseconds, the same limits hold as for ours.
  return readAs(triggerInput, {
    name: triggerId,
    collection,
    events,
    condition: condition || null,
    action: { type: 'webhook', url, headers, secrets: secretsRef === undefined ? [] : [secretsRef] },
    ...(timeout === undefined ? {} : { timeoutMs: millisecondsOf(timeout) }),
    ...(retryPolicy === undefined
      ? {}
      : {
          retry: {
            maxAttempts: retryPolicy.maxAttempts,
            initialBackoffMs: millisecondsOf(retryPolicy.initialBackoff),
            maxBackoffMs: millisecondsOf(retryPolicy.maxBackoff),
          },
        }),
  });
}

function readAs<Schema extends typeof triggerInput | typeof sourceTrigger>(
  schema: Schema,
  given: unknown,
): { input: ReturnType<Schema['parse']>; issues: null } | { input: null; issues: Issue[] } {
  const { success, data, error } = schema.safeParse(given, { error: inWords });
  if (success) return { input: data as ReturnType<Schema['parse']>, issues: null };
  return {
    input: null,
    issues: error.issues.map(({ path, message }) => ({ path: path.map(String).join('.'), message })),
  };
}

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function millisecondsOf(length: string): number {
  const [, number, unit] = /^(\d+)(ms|s|m|h)$/.exec(length)!;
  return Number(number) * UNITS[unit!]!;
}
