import type { Rule } from '../evidence.ts';

/** Nothing is in a state that nobody waits for. */
export const nothingIsStuck: Rule = ({ restless }) =>
  restless.map(({ table, id, state }) => ({ subject: id, message: `${table} is ${state}` }));

/** The rows of the database are consistent with each other. */
export const invariantsHold: Rule = ({ invariants }) =>
  invariants.map((message) => ({ subject: /"([0-9a-f-]{36})"/.exec(message)?.[1] ?? 'database', message }));

/** A run has used what its steps used, and the report of usage is the sum of the runs. */
export const usageAddsUp: Rule = ({ runs, usage }) => {
  const wrong = [...runs.values()].flatMap((run) => {
    const isEqual =
      run.inputTokens === run.stepInputTokens &&
      run.outputTokens === run.stepOutputTokens &&
      run.cost === run.stepCost;
    if (isEqual) return [];
    const has = `${run.inputTokens}/${run.outputTokens}/${run.cost}`;
    const steps = `${run.stepInputTokens}/${run.stepOutputTokens}/${run.stepCost}`;
    return [{ subject: run.id, message: `the run has used ${has}, its steps ${steps}` }];
  });
  const { reported, runs: sum } = usage;
  if (reported.inputTokens === sum.inputTokens && reported.outputTokens === sum.outputTokens) return wrong;
  const message = `reported ${reported.inputTokens}/${reported.outputTokens} tokens, the runs have ${sum.inputTokens}/${sum.outputTokens}`;
  return [...wrong, { subject: 'usage', message }];
};
