import type { Api } from '@troupe/sdk';

/** What was typed in the place of a message, by its sequence. */
export type Edits = Record<number, string>;

/** What a fork after this step takes over: all that came before the run, and what the run said up to there. */
export function messagesUpTo(messages: Api.Message[], runId: string, step: number): Api.Message[] {
  const own = messages.findIndex((message) => message.runId === runId);
  return messages.filter((message, index) => {
    if (message.runId !== runId) return own < 0 || index < own;
    return (message.step ?? 0) <= step;
  });
}

/** A message as it is edited: its text, or the JSON of what a call was given or answered. */
export function editable(message: Api.Message): { text: string; isJson: boolean } {
  if (message.role === 'tool_call') return { text: indented(message.content.arguments), isJson: true };
  if (message.role === 'tool_result')
    return { text: indented(message.content.error ?? message.content.result), isJson: true };
  return { text: message.content.text, isJson: false };
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

type Made =
  | { ok: true; edits: { sequence: number; content: Api.EditedContent }[] }
  | { ok: false; issues: Record<number, string> };

/** The edits as the API takes them; where one is no JSON, what is wrong with it. */
export function editsOf(messages: Api.Message[], edits: Edits): Made {
  const issues: Record<number, string> = {};
  const made = messages.flatMap((message) => {
    const text = edits[message.sequence];
    if (text === undefined) return [];
    try {
      return [{ sequence: message.sequence, content: contentOf(message, text) }];
    } catch (error) {
      issues[message.sequence] = error instanceof Error ? error.message : String(error);
      return [];
    }
  });
  return Object.keys(issues).length > 0 ? { ok: false, issues } : { ok: true, edits: made };
}

function contentOf(message: Api.Message, text: string): Api.EditedContent {
  if (message.role === 'tool_call') {
    const { id, name } = message.content;
    return { id, name, arguments: JSON.parse(text) };
  }
  if (message.role === 'tool_result') {
    const value = JSON.parse(text);
    return message.content.error ? { result: null, error: value } : { result: value, error: null };
  }
  const { parts } = message.content;
  return { text, ...(parts ? { parts } : {}) };
}
