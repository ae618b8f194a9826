import type { CancelReason, Json, JsonObject, RunError, RunStatus } from '@troupe/protocol';
import type { StartItem } from '../../src/index.ts';
import type { ClaimedRun } from '../../src/store/queries/claim.ts';
import type { NewMessage, StepRow, StoredCall, StoredMessage } from '../../src/store/queries/commit.ts';
import type { PostPolicy } from '../../src/store/queries/start.ts';

// The rows of the model store: the columns of store/migrations that the functions decide by.

export const PROJECT = '00000000-0000-7000-8000-100000000000';

export interface RunRecord {
  id: string;
  thread: string;
  entity: string | null;
  snapshot: string;
  triggerMessage: string | null;
  triggerSeq: number | null;
  status: RunStatus;
  serial: boolean;
  ready: boolean;
  lane: string | null;
  laneLimit: number | null;
  runAt: number;
  step: number;
  epoch: number;
  worker: string | null;
  version: number;
  attempt: number;
  modelIndex: number;
  takeovers: number;
  openCalls: number;
  steers: number;
  waitState: JsonObject | null;
  waitDeadline: number | null;
  wallMs: number;
  startedAt: number | null;
  deadlineAt: number | null;
  inputTokens: number;
  outputTokens: number;
  cost: number;
  outcome: Json;
  error: RunError | null;
  cancelReason: CancelReason | null;
  absorbedBy: string | null;
  calls: Map<string, CallRecord>;
  steps: Map<number, StepRow>;
}

export interface CallRecord extends StoredCall {
  deadline: number | null;
  settledBy: string | null;
}

export interface EventRecord {
  seq: number;
  type: string;
  run: string | null;
  messageSeq: number | null;
}

export interface ThreadRecord {
  id: string;
  lastMessageSeq: number;
  lastEventSeq: number;
  activeRun: string | null;
  messages: StoredMessage[];
  events: EventRecord[];
}

export type PostItem = StartItem & {
  message: NewMessage;
  run: NonNullable<StartItem['run']>;
  policy: PostPolicy;
  by?: string;
};

export const isOver = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'canceled';
export const isOpen = (call: CallRecord): boolean =>
  call.status === 'requested' || call.status === 'running' || call.waitsFor !== null;
export const isReady = (call: CallRecord): boolean => call.status === 'requested' && call.waitsFor === null;

export function emptyThread(id: string): ThreadRecord {
  return { id, lastMessageSeq: 0, lastEventSeq: 0, activeRun: null, messages: [], events: [] };
}

export function newRun(
  run: NonNullable<StartItem['run']>,
  thread: string,
  triggerMessage: string | null,
  triggerSeq: number | null,
  ready: boolean,
  now: number,
): RunRecord {
  return {
    id: run.id,
    thread,
    entity: run.entity ?? null,
    snapshot: run.snapshot,
    triggerMessage,
    triggerSeq,
    status: 'queued',
    serial: run.serial ?? false,
    ready,
    lane: run.lane ?? null,
    laneLimit: run.laneLimit ?? null,
    runAt: now + (run.delayMs ?? 0),
    step: 0,
    epoch: 0,
    worker: null,
    version: 0,
    attempt: 0,
    modelIndex: 0,
    takeovers: 0,
    openCalls: 0,
    steers: 0,
    waitState: null,
    waitDeadline: null,
    wallMs: run.wallMs,
    startedAt: null,
    deadlineAt: null,
    inputTokens: 0,
    outputTokens: 0,
    cost: 0,
    outcome: null,
    error: null,
    cancelReason: null,
    absorbedBy: null,
    calls: new Map(),
    steps: new Map(),
  };
}

export function storedCall(call: CallRecord): StoredCall {
  const { deadline: _, settledBy: __, ...stored } = call;
  return stored;
}

/** Settled calls are handed over without arguments and results. */
function withoutSettled(call: StoredCall): StoredCall {
  if (call.status === 'requested' || call.status === 'running') return call;
  const { args: _, output: __, error: ___, ...rest } = call;
  return rest as StoredCall;
}

/** A run as it is handed to a worker. */
export function toClaimed(
  run: RunRecord,
  thread: ThreadRecord,
  now: number,
  isNeeded: (message: StoredMessage) => boolean,
): ClaimedRun {
  return {
    id: run.id,
    projectId: PROJECT,
    door: 'plain',
    agentId: null,
    entityId: run.entity,
    snapshotId: run.snapshot,
    threadId: run.thread,
    parentRunId: null,
    rootRunId: run.id,
    triggerType: 'message',
    triggerMessageId: run.triggerMessage,
    triggerSeq: run.triggerSeq,
    trigger: {},
    chainDepth: 0,
    serial: run.serial,
    status: run.status,
    step: run.step,
    epoch: run.epoch,
    lives: 1,
    version: run.version,
    attempt: run.attempt,
    modelIndex: run.modelIndex,
    takeovers: run.takeovers,
    openCalls: run.openCalls,
    steers: run.steers,
    waitState: run.waitState,
    remainingMs: run.deadlineAt! - now,
    inputTokens: run.inputTokens,
    outputTokens: run.outputTokens,
    cost: run.cost,
    budgetIds: null,
    spaceId: null,
    metadata: {},
    messages: thread.messages.filter(isNeeded),
    lastSeq: thread.lastMessageSeq,
    calls: [...run.calls.values()].map(storedCall).map(withoutSettled),
  };
}
