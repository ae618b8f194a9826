import { Refusal } from '../base/index.ts';

/** Retention has deleted the messages and steps of the run: there is nothing to continue from. */
export function runPurged(): Refusal {
  return new Refusal(
    'conflict',
    'run_purged',
    'Only the result of the run is kept; its steps were deleted.',
    {
      hint: 'Start a new run. GET /v1/retention shows how long steps are kept.',
    },
  );
}
