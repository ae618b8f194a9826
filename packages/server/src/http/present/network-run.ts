import type { Invoked, Json, JsonObject } from '@troupe/protocol';
import type { NetworkRunRecord } from '../../store/index.ts';
import { presentRun } from './run.ts';

export function presentNetworkRun({ network, agent, ...run }: NetworkRunRecord): Invoked {
  const outcome = run.outcome as JsonObject | null;
  return { ...presentRun(run), network, agent, response: (outcome?.response ?? null) as Json };
}
