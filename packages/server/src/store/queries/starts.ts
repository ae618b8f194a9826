import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';
import type { StoredMessage } from './advance.ts';
import { Columns, isUndecided, upTo } from './columns.ts';
import { inTwo } from './in-two.ts';
import { type Started, type StartItem, start } from './start.ts';

// The start that nearly every run has (troupe.starts, 0005_batches.sql): a message and the run that answers it.

/** `unlessFailed` needs nothing here: a thread that has failed is undecided. */
type PlainItem = Required<Omit<StartItem, 'unlessFailed'>> & Pick<StartItem, 'unlessFailed'>;

/** Whether a start fits. Everything else goes through start. */
function isPlain(item: StartItem): item is PlainItem {
  const { message, run } = item;
  if (!message || !run || message.callId || message.step || run.network) return false;
  return run.lane === undefined && run.delayMs === undefined && !run.budgets && run.historyLimit !== 0;
}

const STARTS = new Columns(
  'troupe.starts',
  {
    taker: 'uuid',
    count: 'int[]',
    project: 'uuid[]',
    thread: 'uuid[]',
    kind: 'troupe.thread_kind[]',
    takes: 'boolean[]',
    events: 'int[]',
    messageId: 'uuid[]',
    messageRole: 'troupe.message_role[]',
    messageContent: 'jsonb',
    messageSender: 'uuid[]',
    messageMetadata: 'jsonb[]',
    run: 'uuid[]',
    door: 'text[]',
    agent: 'uuid[]',
    entity: 'uuid[]',
    snapshot: 'uuid[]',
    parent: 'uuid[]',
    root: 'uuid[]',
    triggerType: 'text[]',
    trigger: 'jsonb[]',
    chainDepth: 'int[]',
    serial: 'boolean[]',
    wallMs: 'bigint[]',
    historyLimit: 'int[]',
    metadata: 'jsonb[]',
    eventItem: 'int[]',
    eventPlace: 'int[]',
    eventType: 'text[]',
    eventStep: 'int[]',
  },
  'verdicts',
);

/** Of one process: those that ask for their run ask for the same worker. */
export async function startMany(db: Database, items: StartItem[]): Promise<Started[]> {
  const shared = new Set(items.map((item) => item.thread)).size < items.length;
  const plain = shared ? [] : items.filter(isPlain);
  if (plain.length === items.length) return startPlain(db, plain);
  if (plain.length === 0) return start(db, items);
  const others = items.filter((item) => !plain.includes(item as PlainItem));
  return inTwo(items, [plain, others], [startPlain(db, plain), start(db, others)]);
}

async function startPlain(db: Database, items: PlainItem[]): Promise<Started[]> {
  // The order of locks; verdicts come back in it.
  const order = items.map((_, index) => index);
  if (items.length > 1) order.sort((a, b) => (items[a]!.thread < items[b]!.thread ? -1 : 1));
  let rows: { verdicts: Verdict[] }[];
  try {
    rows = await db.run({
      name: 'starts',
      text: STARTS.text,
      values: valuesOf(order.map((index) => items[index]!)),
    });
  } catch (error) {
    if (!isUndecided(error)) throw error;
    return start(db, items);
  }
  const started: Started[] = [];
  order.forEach((index, place) => {
    started[index] = startedOf(items[index]!, rows[0]!.verdicts[place]!);
  });
  return started;
}

/** Seq of the message, when it was stored, whether the run may start, the thread's tail where the run was taken in a thread that was there. */
type Verdict = [seq: number, createdAt: string, free: boolean, tail: StoredMessage[] | null];

function startedOf(item: PlainItem, [seq, createdAt, free, tail]: Verdict): Started {
  const { run, thread } = item;
  const common = { ok: true as const, run: run.id, thread, seq, ready: free, duplicate: false, createdAt };
  return item.claim && free ? { ...common, claimed: tail, lastSeq: seq } : common;
}

const json = (value: unknown): string | null => (value === undefined ? null : toJsonText(value));

function valuesOf(items: PlainItem[]): unknown[] {
  const columns = STARTS.empty();
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!;
    const { message, run, claim } = item;
    columns.project.push(item.project);
    columns.thread.push(item.thread);
    columns.kind.push(item.createThread ?? null);
    columns.takes.push(claim !== undefined);
    columns.messageId.push(message.id);
    columns.messageRole.push(message.role);
    columns.messageContent.push(json(message.content));
    columns.messageSender.push(message.sender ?? null);
    columns.messageMetadata.push(json(message.metadata));
    columns.run.push(run.id);
    columns.door.push(run.door);
    columns.agent.push(run.agent ?? null);
    columns.entity.push(run.entity ?? null);
    columns.snapshot.push(run.snapshot);
    columns.parent.push(run.parent ?? null);
    columns.root.push(run.root ?? null);
    columns.triggerType.push(run.triggerType);
    columns.trigger.push(json(run.trigger));
    columns.chainDepth.push(run.chainDepth ?? 0);
    columns.serial.push(run.serial ?? false);
    columns.wallMs.push(run.wallMs);
    columns.historyLimit.push(run.historyLimit ?? 50);
    columns.metadata.push(json(run.metadata));
    const told = ['message.created', 'run.queued'];
    if (claim) told.push('run.started', ...claim.events, 'step.started');
    columns.events.push(told.length);
    told.forEach((type, place) => {
      columns.eventItem.push(index + 1);
      columns.eventPlace.push(place + 1);
      columns.eventType.push(type);
      columns.eventStep.push(type === 'step.started' ? 1 : null);
    });
  }
  columns.count = upTo(columns.eventItem.length);
  return STARTS.values(items.find((item) => item.claim)?.claim.worker ?? null, columns);
}
