import type { Api } from '@troupe/sdk';
import type { RunDetails } from '../run/queries.ts';

export function askedText(run: RunDetails, messages: Api.Message[]): string {
  const said = messages.flatMap((message) => (message.role === 'user' ? [message.content.text] : []));
  return said.length > 0 ? said.join('\n\n') : JSON.stringify(run.trigger, null, 2);
}

export function answerOf({ outcome, error }: RunDetails): string {
  if (error) return `${error.code}: ${error.message}`;
  if (outcome === null || outcome === undefined) return '';
  const { text, ...more } = outcome as { text?: unknown };
  if (typeof text !== 'string') return JSON.stringify(outcome, null, 2);
  return Object.keys(more).length > 0 ? `${text}\n\n${JSON.stringify(more, null, 2)}` : text;
}

/** What a step said and asked for, and what came back. */
export function stepText(run: RunDetails, messages: Api.Message[], step: number): string {
  const said = messages.flatMap((message) =>
    message.role === 'assistant' && message.step === step && message.content.text
      ? [message.content.text]
      : [],
  );
  const calls = run.calls
    .filter((call) => call.step === step)
    .map((call) => {
      const answer = call.error
        ? `${call.error.code}: ${call.error.message}`
        : JSON.stringify(call.output, null, 2);
      return `→ ${call.tool} ${JSON.stringify(call.arguments, null, 2)}\n← ${answer}`;
    });
  return [...said, ...calls].join('\n');
}
