import type { ModelRequest } from '../kernel/ports.ts';

/**
 * The same step of the same run gives the same ids in every process and at every retry.
 * The end of the run's id is taken: a uuid v7 begins with the time, which runs made together share.
 */
export function callId(request: Pick<ModelRequest, 'runId' | 'step'>, index: number): string {
  return `call_${request.runId.slice(-12)}_${request.step}_${index}`;
}
