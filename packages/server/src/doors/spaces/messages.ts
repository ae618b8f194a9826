import { notFound } from '../../base/index.ts';
import * as store from '../../store/index.ts';
import { type Parts, reach, type Who } from './parts.ts';

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
  return { messages, lastSequence: lastMessage, hasMore };
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
  return message;
}

export async function listSpaceRuns(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  space: string,
  filter: Omit<store.RunFilter, 'spaceId'>,
): Promise<store.RunRecord[]> {
  await reach(db, who, space);
  return store.listRuns(db, { project: who.project, entityId: null }, { ...filter, spaceId: space });
}
