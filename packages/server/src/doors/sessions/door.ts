import { type JsonObject, type ReasoningEffort, reasoningEffort } from '@troupe/protocol';
import { type Door, type Meaning, toModelMessages } from '../../kernel/index.ts';
import { shortened } from './shorten.ts';
import { asSaid, endOf, summaryDue, summaryOf } from './summary.ts';
import { isWhole, turnsFor } from './turns.ts';
import { lastTurns, MOST_BYTES, roomFor, sizeOf } from './window.ts';

/** A person and one agent, turn by turn: the model sees the conversation, its text is the answer. */
export const sessionsDoor: Door = {
  name: 'session',
  startEvents: ['session.started'],
  failEvents: ['session.failed'],
  cancelEvents: ['session.canceled'],
  context: (view) => {
    const { run, snapshot, transcript } = view;
    const { earlier, own } = turnsFor(run, transcript);
    const { summary, upTo } = summaryOf(transcript);
    const open = earlier.filter((turn) => isWhole(turn) && endOf(turn) > upTo);
    const room = roomFor(view);
    const left = room - sizeOf(own.messages) - (summary ? sizeOf([summary]) : 0);
    const said = lastTurns(
      [...open, own].map(({ messages }) => messages),
      Math.min(MOST_BYTES, left),
    );
    return {
      system: snapshot.prompt,
      messages: shortened(toModelMessages(summary ? [asSaid(summary), ...said] : said, view), room),
      ...effortOf(run.metadata),
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
    // Whoever reads half an answer must be able to tell.
    const cut = finishReason === 'length' || finishReason === 'content_filter' ? { finishReason } : null;
    const messages: Meaning['messages'] =
      text === '' ? [] : [{ role: 'assistant', content: { text }, ...(cut ? { metadata: cut } : {}) }];
    if (calls.length === 0) {
      const due = summaryDue(
        transcript,
        turnsFor(run, transcript),
        snapshot.limits.historyMessages,
        Math.min(MOST_BYTES, roomFor(view)),
      );
      if (due) messages.push(due);
    }
    return {
      messages,
      outcome: { text, ...cut },
      endEvents: [{ type: 'session.completed' }],
    };
  },
};

const FILTERED = {
  code: 'content_filter',
  message:
    'The provider’s filter stopped the answer before its first word. Say it in another way, or give the agent another model.',
  retryable: false,
};

/** What the message asked for, of which its run keeps a note. */
function effortOf(metadata: JsonObject): { reasoningEffort?: ReasoningEffort } {
  const asked = reasoningEffort.safeParse(metadata.reasoningEffort);
  return asked.success ? { reasoningEffort: asked.data } : {};
}
