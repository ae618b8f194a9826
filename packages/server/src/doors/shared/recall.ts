import type { Json } from '@troupe/protocol';
import { splitMedia, TroupeError } from '../../base/index.ts';
import type { ToolContext, ToolExecute } from '../../kernel/index.ts';
import { type Database, readResult, searchMessages } from '../../store/index.ts';
import { RECALL } from './recall-tool.ts';

const MAX_FOUND = 8;
const MAX_CHARACTERS = 20_000;

interface Arguments {
  query?: string;
  callId?: string;
  offset?: number;
}

/** Executes `recall`: a run reads its own conversation and nothing else. */
export function recallActs(db: Database): Record<string, ToolExecute> {
  return { [RECALL]: (args, context) => recall(db, args as Arguments, context) };
}

async function recall(
  db: Database,
  { query, callId, offset = 0 }: Arguments,
  context: ToolContext,
): Promise<Json> {
  if (callId !== undefined) return readWhole(db, context, callId, offset);
  if (query === undefined) throw new TroupeError('invalid_arguments', 'Give `query` or `callId`.');
  const found = await searchMessages(db, context.threadId, { query, limit: MAX_FOUND, except: RECALL });
  return {
    found: found.map(({ sequence, role, toolCallId, text, createdAt }) => ({
      message: sequence,
      role,
      at: createdAt.toISOString(),
      ...(toolCallId === null ? {} : { callId: toolCallId }),
      text,
    })),
  };
}

async function readWhole(
  db: Database,
  { threadId }: ToolContext,
  callId: string,
  offset: number,
): Promise<Json> {
  const result = await readResult(db, threadId, callId);
  if (result === undefined) {
    throw new TroupeError('result_not_found', `No call "${callId}" of this conversation has a result.`);
  }
  const { output } = splitMedia(result);
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  const end = offset + MAX_CHARACTERS;
  return {
    callId,
    characters: text.length,
    text: text.slice(offset, end).toWellFormed(),
    ...(end < text.length ? { nextOffset: end } : {}),
  };
}
