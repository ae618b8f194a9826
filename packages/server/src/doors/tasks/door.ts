import type { JsonObject } from '@troupe/protocol';
import { rememberedPart } from '../../agents/index.ts';
import {
  type Door,
  type Meaning,
  type MeantCall,
  type ModelCall,
  toModelMessages,
} from '../../kernel/index.ts';
import type { Database, StoredMessage } from '../../store/index.ts';
import { roomFor, shortened, tasksPart } from '../shared/index.ts';
import { DOOR } from './door-name.ts';
import { lastTurn } from './forced.ts';
import { ASK_USER, FINAL_ANSWER, ownTools } from './own-tools.ts';

const BETWEEN = '\n\n---\n\n';

/** A sub-agent at work: it sees its own thread and nothing else, and what it ends with is the result of its task. */
export function createTasksDoor(db: Database): Door {
  return {
    name: DOOR,
    tools: ownTools,
    context: async (view) => {
      const { run, snapshot, transcript } = view;
      const forced = lastTurn(view) !== null;
      const isTool = snapshot.config.toolTask === true;
      const parts = isTool
        ? []
        : [
            snapshot.prompt,
            forced ? ANSWER_NOW : SUB_AGENT,
            await rememberedPart(db, snapshot, run),
            await tasksPart(db, snapshot, run),
          ];
      const system = parts.filter((part) => part !== '').join(BETWEEN);
      const room = roomFor({ ...view, snapshot: { ...snapshot, prompt: system } });
      return {
        system,
        messages: shortened(toModelMessages(whole(transcript), view), room),
        ...(forced && !isTool ? { tools: [], toolChoice: 'none' as const } : {}),
      };
    },
    settle: (view, { text, calls, finishReason }) => {
      const said: Meaning['messages'] = text === '' ? [] : [{ role: 'assistant', content: { text } }];
      const final = calls.map(finalOf).find((result) => result !== null);
      if (final !== undefined) {
        const answer = { role: 'assistant' as const, content: { text: final }, metadata: { final: true } };
        return { messages: [...said, answer], calls: [], outcome: { text: final } };
      }
      const empty = text.trim() === '' && calls.length === 0;
      if (empty && finishReason === 'content_filter') return { messages: [], refuse: FILTERED };
      const over = view.snapshot.config.toolTask === true ? null : lastTurn(view);
      if (over && (empty || calls.length > 0)) return { messages: said, calls: [], fail: over };
      if (empty) return { messages: [], refuse: EMPTY };
      if (calls.length > 0) return { messages: said, calls: oneQuestion(calls) };
      const cut = finishReason === 'length' || finishReason === 'content_filter' ? { finishReason } : {};
      return { messages: said, outcome: { text, ...cut } };
    },
  };
}

/** What is left of a thread begins with something that was asked: the rest of a turn says nothing. */
function whole(transcript: readonly StoredMessage[]): readonly StoredMessage[] {
  const first = transcript.findIndex(({ role }) => role === 'user');
  return first <= 0 ? transcript : transcript.slice(first);
}

/** The result, where the call has one that can be taken: others are told what is wrong with them, as any call is. */
function finalOf({ name, arguments: args }: ModelCall): string | null {
  if (name !== FINAL_ANSWER || args === null || typeof args !== 'object') return null;
  const { result } = args as JsonObject;
  return typeof result === 'string' && result.trim() !== '' ? result : null;
}

/** Whoever answers sees one question. */
function oneQuestion(calls: readonly ModelCall[]): MeantCall[] {
  const first = calls.find(({ name }) => name === ASK_USER);
  return calls.map((call) => (call.name === ASK_USER && call !== first ? { ...call, refuse: SECOND } : call));
}

const SUB_AGENT =
  'You are a sub-agent: another agent gave you the task in the first message, and waits for its result. Nobody else reads what you ' +
  'write. Work on it with your tools. When you have the result, call final_answer with all of it: that is what the other agent ' +
  'gets, and nothing else. If something is missing that you cannot find out, and you cannot go on without it, ask for it with ask_user: one ' +
  'question at a time, and none twice.';

const ANSWER_NOW =
  'You are a sub-agent, and this is your last turn: you have no tools any more. Answer now, in text, with the result of your task as far as ' +
  'you have it. Say what is missing.';

const SECOND = {
  code: 'one_question',
  message:
    'Only one question can be asked at a time; this one was not asked. Ask it later, if you still need to.',
};

const EMPTY = { code: 'empty_answer', message: 'The model answered nothing.' };

const FILTERED = {
  code: 'content_filter',
  message: 'The provider’s filter stopped the answer before its first word. Give the agent another model.',
  retryable: false,
};
