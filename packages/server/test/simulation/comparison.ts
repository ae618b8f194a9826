import type pg from 'pg';
import type { ClaimedRun } from '../../src/store/queries/claim.ts';
import type { ModelStore } from './model-store.ts';
import type { Method } from './recorder.ts';

// What of an answer or a row counts: everything but ids that functions make up, the wording of errors, and what the
// model has no use for.

type Facts = Record<string, unknown>;

const CLAIMED = [
  'id',
  'threadId',
  'entityId',
  'snapshotId',
  'triggerMessageId',
  'triggerSeq',
  'serial',
  'status',
  'step',
  'epoch',
  'version',
  'attempt',
  'modelIndex',
  'takeovers',
  'openCalls',
  'steers',
  'remainingMs',
  'inputTokens',
  'outputTokens',
  'cost',
  'lastSeq',
  'messages',
  'calls',
];

export function told(method: Method, answer: unknown): unknown {
  switch (method) {
    case 'claim':
      return byId((answer as ClaimedRun[]).map((run) => pick(plain(run), CLAIMED)));
    case 'heldBy':
      return byId(plain(answer) as unknown as { id: string }[]);
    case 'beat':
      return (plain(answer) as unknown as { incarnation: string }[]).toSorted((a, b) =>
        a.incarnation < b.incarnation ? -1 : 1,
      );
    case 'raiseBudget':
    case 'rowlessHolders':
      return (answer as string[]).toSorted();
    case 'lockHolders':
      return [...(answer as Set<string>)].toSorted();
    case 'post': {
      const { worker: _, started: __, duplicate: ___, createdAt: ____, ...posted } = plain(answer);
      return posted;
    }
    case 'start': {
      const { createdAt: _, ...started } = plain(answer);
      return started;
    }
    case 'commit': {
      const { promoted: _, ...committed } = plain(answer);
      return committed;
    }
    case 'absorb': {
      const { trigger: _, spaces: __, ...absorbed } = plain(answer);
      return absorbed;
    }
    case 'disown':
    case 'forgetWorker':
    case 'restart':
      return null;
    default:
      return plain(answer);
  }
}

/** Two claims that could take only some of what was due since the same moment, and took different ones. */
export function isAmbiguous(one: unknown, other: unknown): boolean {
  const ids = (answer: unknown) => (answer as ClaimedRun[]).map(({ id }) => id).toSorted();
  return (one as unknown[]).length === (other as unknown[]).length && String(ids(one)) !== String(ids(other));
}

/** All rows of the model. */
export function rowsOf(store: ModelStore): Facts {
  const runs = [...store.runs.values()];
  const threads = [...store.threads.values()];
  return {
    runs: byId(
      runs.map((run) =>
        plain({
          id: run.id,
          status: run.status,
          ready: run.ready,
          step: run.step,
          epoch: run.epoch,
          modelIndex: run.modelIndex,
          openCalls: run.openCalls,
          steers: run.steers,
          inputTokens: run.inputTokens,
          error: run.error,
          cancelReason: run.cancelReason,
          absorbedBy: run.absorbedBy,
        }),
      ),
    ),
    steps: sorted(runs.flatMap((run) => [...run.steps.keys()].map((step) => `${run.id} ${step}`))),
    calls: sorted(
      runs.flatMap((run) =>
        [...run.calls.values()].map((call) =>
          line(
            run.id,
            call.id,
            call.step,
            call.position,
            call.tool,
            call.status,
            call.attempt,
            call.epoch,
            call.settledBy,
          ),
        ),
      ),
    ),
    messages: sorted(
      threads.flatMap((thread) =>
        thread.messages.map(({ seq, role, callId, runId, step }) =>
          line(thread.id, seq, role, callId, runId, step),
        ),
      ),
    ),
    events: sorted(
      threads.flatMap((thread) =>
        thread.events.map(({ seq, type, run, messageSeq }) => line(thread.id, seq, type, run, messageSeq)),
      ),
    ),
  };
}

/** The same of the database. */
export async function storedRows(pool: pg.Pool): Promise<Facts> {
  const all = async (text: string): Promise<Facts[]> => (await pool.query(text)).rows;
  const lines = async (text: string) => sorted((await all(text)).map((row) => line(...Object.values(row))));
  return {
    runs: byId(
      (
        await all(`select id, status, ready, step, epoch, model_index as "modelIndex", open_calls as "openCalls", steers,
          input_tokens as "inputTokens", error, cancel_reason as "cancelReason", absorbed_by as "absorbedBy" from troupe.runs`)
      ).map((row) => plain(row) as { id: string }),
    ),
    steps: await lines('select run_id, step from troupe.run_steps'),
    calls: await lines(
      'select run_id, call_id, step, position, tool, status, attempt, epoch, settled_by from troupe.tool_calls',
    ),
    messages: await lines('select thread_id, seq, role, tool_call_id, run_id, step from troupe.messages'),
    events: await lines('select thread_id, seq, type, run_id, message_seq from troupe.events'),
  };
}

/** As it comes out of JSON, without what is null, ids of messages, and the wording of errors. */
function plain(value: unknown): Facts {
  return JSON.parse(JSON.stringify(value), (key, inner) => {
    if (inner === null || typeof inner !== 'object') return key === 'remainingMs' ? Math.round(inner) : inner;
    if (Array.isArray(inner)) return inner;
    if (key === 'error') return { code: inner.code };
    const kept = Object.entries(inner).filter(([, item]) => item !== null && item !== undefined);
    if ('role' in inner) return Object.fromEntries(kept.filter(([name]) => name !== 'id'));
    return Object.fromEntries(kept);
  });
}

const line = (...parts: unknown[]): string => parts.map((part) => part ?? '-').join(' ');
const sorted = (lines: string[]): string[] => lines.toSorted();

function pick(facts: Facts, keys: string[]): Facts & { id: string } {
  return Object.fromEntries(keys.filter((key) => key in facts).map((key) => [key, facts[key]])) as Facts & {
    id: string;
  };
}

function byId<Row extends Facts>(rows: Row[]): Row[] {
  return rows.toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
}
