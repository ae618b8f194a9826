import { type Json, type JsonObject, type ReasoningEffort, reasoningEffort } from '@troupe/protocol';
import { type Door, type Meaning, type RunView, toModelMessages } from '../../kernel/index.ts';
import { rememberedPart } from '../../memories/index.ts';
import type { Database } from '../../store/index.ts';
import {
  asAsked,
  changedSince,
  contentFiltered,
  formatPart,
  isRefused,
  outputOf,
  refusal,
  roomFor,
  shortened,
  sizeOf,
  tasksPart,
} from '../shared/index.ts';
import { asSaid, endOf, summaryDue, summaryOf } from './summary.ts';
import { asTold } from './told.ts';
import { isWhole, turnsFor } from './turns.ts';
import { lastTurns, MOST_BYTES } from './window.ts';

/** Between the parts of a prompt, as between those that an agent is compiled of. */
const BETWEEN = '\n\n---\n\n';

/**
 * A person and one agent, turn by turn: the model sees the conversation, its text is the answer. Where agents are to be told
 * what they remember, it needs the database to read it from.
 */
export const createSessionsDoor = (db?: Database): Door => ({
  name: 'session',
  startEvents: ['session.started'],
  failEvents: ['session.failed'],
  cancelEvents: ['session.canceled'],
  context: async (view) => {
    const { run, snapshot, transcript } = view;
    const { earlier, own } = turnsFor(run, transcript);
    const { summary, upTo } = summaryOf(transcript);
    const open = earlier.filter((turn) => isWhole(turn) && endOf(turn) > upTo);
    const { answer } = snapshot;
    const remembered = db ? await rememberedPart(db, snapshot, run) : '';
    const tasks = db ? await tasksPart(db, snapshot, run) : '';
    const parts = [snapshot.prompt, answer ? formatPart(answer) : '', remembered, tasks];
    const system = parts.filter((part) => part !== '').join(BETWEEN);
    const room = roomFor({ ...view, snapshot: { ...snapshot, prompt: system } });
    const left = room - sizeOf(own.messages) - (summary ? sizeOf([summary]) : 0);
    const said = lastTurns(
      // What a turn was refused for is nobody's business but its own.
      [...open.map(({ messages }) => messages.filter((one) => !isRefused(one))), own.messages],
      Math.min(MOST_BYTES, left),
    );
    const shown = summary ? [asSaid(summary), ...said] : said;
    return {
      system,
      messages: shortened(
        toModelMessages(shown, view, (one) => asAsked(one) ?? asTold(one)),
        room,
      ),
      ...effortOf(run.metadata),
      ...(answer ? { answerSchema: answer.schema } : {}),
      ...changedSince(view, { remembered, tasks }),
    };
  },
  settle: (view, { text, calls, finishReason }) => {
    const { run, snapshot, transcript } = view;
    if (text.trim() === '' && calls.length === 0 && finishReason === 'content_filter') {
      return { messages: [], refuse: FILTERED };
    }
    if (text.trim() === '' && calls.length === 0) {
      return { messages: [], refuse: { code: 'empty_answer', message: 'The model answered nothing.' } };
    }
    const { answer } = snapshot;
    if (answer && calls.length === 0) {
      const read = outputOf(answer, { text, finishReason });
      if ('problem' in read) {
        return refusal(answer, turnsFor(run, transcript).own.messages, { text, problem: read.problem });
      }
      return said(view, { ...read, calls: 0 });
    }
    // Whoever reads half an answer must be able to tell.
    const cut = finishReason === 'length' || finishReason === 'content_filter' ? { finishReason } : null;
    return said(view, { text, calls: calls.length, ...(cut ? { cut } : {}) });
  },
});

/** Remembers nothing: for those who have no database at hand. */
export const sessionsDoor: Door = createSessionsDoor();

/** What becomes of an answer that is one. */
function said(
  { run, snapshot, transcript, model }: RunView,
  { text, calls, cut, output }: { text: string; calls: number; cut?: JsonObject; output?: Json },
): Meaning {
  // That the text is JSON is told beside it: whoever reads the message has not seen the agent's schema.
  const metadata = output === undefined ? cut : { ...cut, format: 'json' };
  const messages: Meaning['messages'] =
    text === '' ? [] : [{ role: 'assistant', content: { text }, ...(metadata ? { metadata } : {}) }];
  if (calls === 0) {
    const due = summaryDue(
      transcript,
      turnsFor(run, transcript),
      snapshot.limits.historyMessages,
      Math.min(MOST_BYTES, roomFor({ model, snapshot })),
    );
    if (due) messages.push(due);
  }
  return {
    messages,
    outcome: { text, ...(output === undefined ? {} : { output }), ...cut },
    endEvents: [{ type: 'session.completed' }],
  };
}

const FILTERED = contentFiltered('Say it in another way, or give the agent another model.');

/** What the message asked for, of which its run keeps a note. */
function effortOf(metadata: JsonObject): { reasoningEffort?: ReasoningEffort } {
  const asked = reasoningEffort.safeParse(metadata.reasoningEffort);
  return asked.success ? { reasoningEffort: asked.data } : {};
}
