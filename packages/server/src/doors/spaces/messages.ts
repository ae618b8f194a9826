import type { RunStatus } from '@troupe/protocol';
import { notFound } from '../../base/index.ts';
import { runSeenIn } from '../../runs/index.ts';
import * as store from '../../store/index.ts';
import { type Parts, reach, type Who } from './parts.ts';
import { toldToOthers } from './why.ts';

export interface SpaceMessages {
  messages: store.SpaceMessageRow[];
  lastSequence: number;
  hasMore: boolean;
}

export async function listSpaceMessages(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  space: string,
  range: store.SpaceMessageRange,
): Promise<SpaceMessages> {
  const { lastMessage } = await reach(db, who, space);
  const found = await store.listSpaceMessages(db, space, { ...range, limit: range.limit + 1 });
  const hasMore = found.length > range.limit;
  // The one too many is at the far end: the last where they were read forwards.
  const messages = hasMore ? (range.after === undefined ? found.slice(1) : found.slice(0, -1)) : found;
  return { messages: messages.map((one) => toldTo(who, one)), lastSequence: lastMessage, hasMore };
}

export async function getSpaceMessage(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  space: string,
  id: string,
): Promise<store.SpaceMessageRow> {
  await reach(db, who, space);
  const message = await store.findSpaceMessage(db, space, id);
  if (!message) throw notFound('message');
  return toldTo(who, message);
}

function toldTo(who: Who, message: store.SpaceMessageRow): store.SpaceMessageRow {
  return who.entityId === null ? message : toldToOthers(message);
}

export async function listSpaceRuns(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  space: string,
  { status, ...filter }: Omit<store.RunFilter, 'spaceId' | 'statuses'> & { status?: RunStatus | undefined },
): Promise<store.RunRecord[]> {
  await reach(db, who, space);
  const scope = { project: who.project, entityId: null };
  const statuses = status && [status];
  const listed = await store.listRuns(db, scope, { ...filter, statuses, spaceId: space });
  const runs = listed.runs.map(({ asked: _, ...run }) => run);
  return who.entityId === null ? runs : runs.map((run) => runSeenIn(run, [space.toLowerCase()]));
}
