import { Counter, Histogram } from '../base/index.ts';

// What the kernel of this process has done. Counted where it happens and kept in memory: a count costs no statement.

export const runsStarted = new Counter('troupe_runs_started_total', 'Runs that this process started.');
export const runsClaimed = new Counter(
  'troupe_runs_claimed_total',
  'Runs that this worker took: from the queue, or as they started here.',
  ['from'],
);
export const claimErrors = new Counter(
  'troupe_claim_errors_total',
  'Errors while claiming: of the statement, by kind, or of a single run.',
  ['kind'],
);
export const runsEnded = new Counter(
  'troupe_runs_ended_total',
  'Runs that ended in this worker, by the status they ended with.',
  ['status'],
);
export const runsTakenOver = new Counter(
  'troupe_takeover_runs_total',
  'Runs of dead workers that this worker put back into the queue.',
);
export const workersReaped = new Counter(
  'troupe_takeovers_total',
  'Workers that this worker found dead, or alive and hung.',
  ['how'],
);
export const commits = new Counter('troupe_commits_total', 'Commits of runs, by what became of them.', [
  'kind',
  'outcome',
]);
export const commitGroups = new Histogram(
  'troupe_commit_group_size',
  'How many commits were sent together.',
  [1, 2, 4, 8, 16, 32],
  ['kind'],
);
export const toolCalls = new Counter('troupe_tool_calls_total', 'Tool calls that were settled, by outcome.', [
  'outcome',
]);
export const modelCalls = new Counter(
  'troupe_model_calls_total',
  'Model calls, by the kind of provider and outcome.',
  ['provider', 'outcome'],
);
export const modelErrors = new Counter(
  'troupe_model_errors_total',
  'Model calls that failed, by error code.',
  ['provider', 'code'],
);
export const modelTokens = new Counter('troupe_model_tokens_total', 'Tokens that models read and wrote.', [
  'provider',
  'direction',
]);
export const modelCost = new Counter(
  'troupe_model_cost_total',
  "What model calls cost, in the currency of the models' prices.",
  ['provider'],
);
export const modelSeconds = new Histogram(
  'troupe_model_call_seconds',
  'How long models took for an answer.',
  [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
  ['provider'],
);
