import type { Json, JsonObject, SnapshotModel } from '@troupe/protocol';
import { REASONING_KEY, type RunRow, type StoredMessage } from '../store/index.ts';
import type { ModelAnswer } from './ports.ts';

// Models that think want their thoughts back together with the results of their calls, signed or encrypted as they came:
// without them one refuses the request and another thinks worse. They are kept with the first call of the step, so that
// a worker which takes the run over has them as well.

export interface KeptReasoning {
  /** Whose they are: another model cannot read them, and another provider must not. */
  provider: string;
  model: string;
  parts: Json;
}

export interface Continuing {
  run: Pick<RunRow, 'id'>;
  model: Pick<SnapshotModel, 'provider' | 'model'>;
}

/** What the database would not take as it is would come back changed, and a changed thought is refused. */
const NOT_STORABLE = /\\u(0000|d[89a-f])/i;

export function storable(
  { reasoningParts: parts, calls }: ModelAnswer,
  { provider, model }: SnapshotModel,
  mostBytes: number,
): { reasoning?: KeptReasoning } {
  if (parts === undefined || calls.length === 0) return {};
  const text = JSON.stringify(parts);
  if (NOT_STORABLE.test(text) || Buffer.byteLength(text) > mostBytes) return {};
  return { reasoning: { provider, model, parts } };
}

export function keptWith(reasoning: KeptReasoning | undefined): { metadata?: JsonObject } {
  return reasoning ? { metadata: { [REASONING_KEY]: { ...reasoning } } } : {};
}

/** What a call has for the model that goes on with its run; of earlier runs nothing is needed. */
export function reasoningFor({ run, model }: Continuing, call: StoredMessage): Json | undefined {
  if (call.runId !== run.id) return undefined;
  const kept = call.metadata?.[REASONING_KEY] as KeptReasoning | undefined;
  return kept?.provider === model.provider && kept.model === model.model ? kept.parts : undefined;
}
