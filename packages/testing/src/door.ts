import { type Door, toModelMessages } from '@troupe/server';

/** The simplest way of working: the thread is shown as it is, the answer's text is the answer. */
export const plainDoor: Door = {
  name: 'plain',
  context: (view) => ({ system: view.snapshot.prompt, messages: toModelMessages(view.transcript, view) }),
  settle: (_view, answer) => {
    if (answer.text === '' && answer.calls.length === 0) {
      return { messages: [], refuse: { code: 'empty_answer', message: 'The model answered nothing.' } };
    }
    return {
      messages: answer.text === '' ? [] : [{ role: 'assistant', content: { text: answer.text } }],
      outcome: { text: answer.text },
    };
  },
};
