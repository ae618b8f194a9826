import { type JsonObject, type ReasoningEffort, reasoningEffort } from '@troupe/protocol';
import { type Door, type Meaning, toModelMessages } from '../../kernel/index.ts';
import { asSaid, endOf, summaryDue, summaryOf } from './summary.ts';
import { isWhole, turnsFor } from './turns.ts';
import { lastTurns } from './window.ts';

/** A person and one agent, turn by turn: the model sees the conversation, its text is the answer. */
export const sessionsDoor: Door = {
  name: 'session',
  startEvents: ['session.started'],
  failEvents: ['session.failed'],
  cancelEvents: ['session.canceled'],
  context: ({ run, snapshot, transcript }) => {
    const { earlier, own } = turnsFor(run.id, transcript);
    const { summary, upTo } = summaryOf(transcript);
    const open = earlier.filter((turn) => isWhole(turn) && endOf(turn) > upTo);
    const said = lastTurns([...open, own].map(({ messages }) => messages));
    return {
      system: snapshot.prompt,
      messages: toModelMessages(summary ? [asSaid(summary), ...said] : said),
      ...effortOf(run.metadata),
    };
  },
  settle: ({ run, snapshot, transcript }, { text, calls }) => {
    if (text.trim() === '' && calls.length === 0) {
      return { messages: [], refuse: { code: 'empty_answer', message: 'The model answered nothing.' } };
    }
    const messages: Meaning['messages'] = text === '' ? [] : [{ role: 'assistant', content: { text } }];
    if (calls.length === 0) {
      const due = summaryDue(transcript, turnsFor(run.id, transcript), snapshot.limits.historyMessages);
      if (due) messages.push(due);
    }
    return {
      messages,
      outcome: { text },
      endEvents: [{ type: 'session.completed' }],
    };
  },
};

/** What the message asked for, of which its run keeps a note. */
function effortOf(metadata: JsonObject): { reasoningEffort?: ReasoningEffort } {
  const asked = reasoningEffort.safeParse(metadata.reasoningEffort);
  return asked.success ? { reasoningEffort: asked.data } : {};
}
