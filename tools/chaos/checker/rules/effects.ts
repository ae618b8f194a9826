import type { Rule } from '../evidence.ts';

/** Tools whose every execution is a request to the tool double. */
const HTTP_TOOLS = new Set(['once', 'idem', 'approved']);

/** A `once` call reaches its tool at most once, and exactly once if it is completed. */
export const onceEffects: Rule = ({ calls, effects }) => {
  const byKey = Map.groupBy(effects, ({ key }) => key);
  return calls.flatMap(({ run, call, tool, effect, status, byPerson, key }) => {
    if (effect !== 'once') return [];
    const times = byKey.get(key)?.length ?? 0;
    const subject = `${run} ${call}`;
    if (times > 1) return [{ subject, message: `${tool} ran ${times} times (${status})` }];
    if (times === 0 && status === 'completed' && !byPerson && HTTP_TOOLS.has(tool))
      return [{ subject, message: `${tool} is completed and never ran` }];
    return [];
  });
};

/** An `idempotent` call may run again, with the same key and the same arguments, and no more often than its attempts. */
export const idempotentEffects: Rule = ({ calls, effects }) => {
  const byKey = Map.groupBy(effects, ({ key }) => key);
  return calls.flatMap(({ run, call, tool, effect, attempt, status, key }) => {
    if (effect !== 'idempotent') return [];
    const sent = byKey.get(key) ?? [];
    const subject = `${run} ${call}`;
    if (new Set(sent.map(({ body }) => body)).size > 1)
      return [{ subject, message: `${tool} was sent with one key and different arguments` }];
    if (sent.length > attempt)
      return [{ subject, message: `${tool} ran ${sent.length} times in ${attempt} attempts` }];
    if (sent.length === 0 && status === 'completed' && HTTP_TOOLS.has(tool))
      return [{ subject, message: `${tool} is completed and never ran` }];
    return [];
  });
};

/** No tool runs for a call that is not in the ledger. */
export const effectsAreInTheLedger: Rule = ({ calls, effects }) => {
  const known = new Set(calls.map(({ key }) => key));
  return effects.flatMap(({ key, tool }) =>
    known.has(key) ? [] : [{ subject: key, message: `${tool} ran for a call that is not in the ledger` }],
  );
};
