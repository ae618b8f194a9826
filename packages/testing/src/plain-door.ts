import type { Door, toModelMessages } from '@troupe/server';

/**
 * The simplest way of working: the thread is shown as it is, the answer's text is the answer. It is given what it needs
 * of the server, so that a process that is started a hundred times can import a part of it.
 */
export function createPlainDoor(toMessages: typeof toModelMessages): Door {
  return {
    name: 'plain',
    context: (view) => ({ system: view.snapshot.prompt, messages: toMessages(view.transcript, view) }),
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
}
