import { type JsonObject, type ReasoningEffort, reasoningEffort } from '@troupe/protocol';
import { type Door, toModelMessages } from '../../kernel/index.ts';
import { turnsFor } from './turns.ts';
import { lastTurns } from './window.ts';

/** A person and one agent, turn by turn: the model sees the conversation, its text is the answer. */
export const sessionsDoor: Door = {
  name: 'session',
  startEvents: ['session.started'],
  failEvents: ['session.failed'],
  context: ({ run, snapshot, transcript }) => ({
    system: snapshot.prompt,
    messages: toModelMessages(lastTurns(turnsFor(run.id, transcript))),
    ...effortOf(run.metadata),
  }),
  settle: (_view, { text, calls }) => {
    if (text.trim() === '' && calls.length === 0) {
      return { messages: [], refuse: { code: 'empty_answer', message: 'The model answered nothing.' } };
    }
    return {
      messages: text === '' ? [] : [{ role: 'assistant', content: { text } }],
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
