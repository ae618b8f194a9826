import type { Json, JsonObject } from '@troupe/protocol';
import type { RunView } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';
import { type Network, type NetworkAgentNode, networkOf } from './network.ts';

// Where a run stands follows from its thread and nothing else, so whoever takes it over stands at the same place.

/** Kept with the message of a hand-over. */
export interface Route {
  from: string;
  to: string;
  context: Json;
  step: number;
}

/** Kept with the message that tells of a refusal. */
export interface Refused {
  agent: string;
  codes: string[];
  step: number;
  /** Calls that were refused: the model reads so as their results. None: the answer was a text. */
  calls: string[];
  /** Nothing of the step was let through. */
  whole: boolean;
}

export interface NetworkPosition {
  network: Network;
  agent: NetworkAgentNode;
  /** Somebody gave the run as a task: whoever is at it may answer that. */
  delegated: boolean;
  /** The hand-over to it; null: it began. */
  route: Route | null;
  /** What the run was asked. */
  asked: StoredMessage | null;
  /** What was said before the hand-over, and since. */
  earlier: StoredMessage[];
  own: StoredMessage[];
  /** Steps in a row, up to now, of which every decision was refused. */
  refusals: number;
}

export function routeOf({ role, metadata }: StoredMessage): Route | null {
  return role === 'system' ? ((metadata?.route as Route | undefined) ?? null) : null;
}

export function refusedOf({ role, metadata }: StoredMessage): Refused | null {
  return role === 'system' ? ((metadata?.refused as Refused | undefined) ?? null) : null;
}

export function positionOf({
  run,
  snapshot,
  transcript,
}: Pick<RunView, 'run' | 'snapshot' | 'transcript'>): NetworkPosition {
  const network = networkOf(snapshot);
  const asked = transcript.find(({ id }) => id === run.triggerMessageId) ?? null;
  const said = transcript.filter((message) => message !== asked);
  const at = said.findLastIndex((message) => routeOf(message) !== null);
  const route = at < 0 ? null : routeOf(said[at]!);
  const key = route?.to ?? (run.trigger as JsonObject).agent;
  const agent = typeof key === 'string' ? network.agent(key) : undefined;
  if (!agent) throw new Error(`run ${run.id} stands at an agent that its network does not have`);
  const own = said.slice(at + 1);
  const delegated = (run.trigger as JsonObject).delegated === true;
  const earlier = said.slice(0, at + 1);
  return { network, agent, delegated, route, asked, earlier, own, refusals: refusalsAtEnd(own) };
}

/** Every step leaves something in the thread. */
function refusalsAtEnd(own: StoredMessage[]): number {
  const refused = new Set(
    own.flatMap((message) => {
      const note = refusedOf(message);
      return note?.whole ? [note.step] : [];
    }),
  );
  const steps = [...new Set(own.flatMap(({ step }) => step ?? []))].sort((a, b) => b - a);
  const kept = steps.findIndex((step) => !refused.has(step));
  return kept < 0 ? steps.length : kept;
}
