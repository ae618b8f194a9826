import type { AnswerFormat, Json, TextContent } from '@troupe/protocol';
import { argumentProblem, messageOf } from '../../base/index.ts';
import type { Meaning, ModelAnswer, ModelMessage } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';

// Answers that must fit a schema. One that does not is no answer: it goes into the thread as a message of the role `system`
// that says what was wrong, the model reads it as its own words and a question, and answers again. The count is in the
// message, so whoever takes over the run goes on counting.

/** Metadata key of messages that replace a refused or empty answer. */
export const REFUSED_KEY = 'troupe:refused';

/** What is kept of a refused answer: enough to mend it. */
const LONGEST = 20_000;

interface Refused {
  /** Of how many this was, counted from 1. */
  try: number;
  /** How long the sentence is that stands before the answer. */
  head: number;
}

export function isRefused({ role, metadata }: Pick<StoredMessage, 'role' | 'metadata'>): boolean {
  return role === 'system' && metadata?.[REFUSED_KEY] !== undefined;
}

/** For models that are not given the schema in another way; it does no harm to the others. */
export function formatPart({ schema }: AnswerFormat): string {
  return `Your final answer must be JSON that fits this JSON Schema, and nothing else: no text around it.\n${JSON.stringify(schema)}`;
}

/** What the answer says as a value, or what is wrong with it. */
export function outputOf(
  { schema }: AnswerFormat,
  { text, finishReason }: Pick<ModelAnswer, 'text' | 'finishReason'>,
): { output: Json; text: string } | { problem: string } {
  const bare = withoutFence(text);
  let output: Json;
  try {
    output = JSON.parse(bare) as Json;
  } catch (error) {
    return finishReason === 'length'
      ? {
          problem:
            'it was cut off before its end, because it is longer than the model may write: make it shorter',
        }
      : { problem: `it is not JSON: ${messageOf(error).slice(0, 200)}` };
  }
  try {
    const problem = argumentProblem(schema, output, 'it');
    if (problem) return { problem: `it does not fit the schema: ${problem}` };
  } catch (error) {
    return { problem: `it could not be checked against the schema: ${messageOf(error)}` };
  }
  return { output, text: bare };
}

/** Models like to put JSON between three backquotes. */
function withoutFence(text: string): string {
  const trimmed = text.trim();
  return /^```(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?```$/i.exec(trimmed)?.[1]?.trim() ?? trimmed;
}

/** What follows from an answer that does not fit: the model is asked again, or the run fails. */
export function refusal(
  { tries }: AnswerFormat,
  own: readonly StoredMessage[],
  { text, problem }: { text: string; problem: string },
): Meaning {
  const made = refusedIn(own.findLast(isRefused))?.try ?? 0;
  // A run that failed for it and was taken up again has all its tries.
  const attempt = made >= tries ? 1 : made + 1;
  const head = `The answer was refused (${attempt} of ${tries}): ${problem}.`;
  const kept = text.length > LONGEST ? `${text.slice(0, LONGEST)}…`.toWellFormed() : text;
  const noted: Refused = { try: attempt, head: head.length };
  const messages: Meaning['messages'] = [
    {
      role: 'system',
      content: { text: `${head}\n\n${kept}` },
      metadata: { [REFUSED_KEY]: { ...noted } },
    },
  ];
  if (attempt < tries) return { messages, end: false };
  const message = `The model gave ${tries} answers that do not fit the agent’s schema. Of the last: ${problem}.`;
  return { messages, fail: { code: 'answer_invalid', message, retryable: true } };
}

/** As the model reads it: what it said, and what was wrong with it. Null where the message is no refused answer. */
export function asAsked(message: StoredMessage): ModelMessage[] | null {
  const refused = isRefused(message) ? refusedIn(message) : null;
  if (!refused) return null;
  const { text } = message.content as TextContent;
  return [
    { role: 'assistant', text: text.slice(refused.head).trim() || '(empty)', calls: [] },
    {
      role: 'user',
      text: `${text.slice(0, refused.head)} Answer again, with JSON that fits the schema and nothing else.`,
    },
  ];
}

function refusedIn(message: StoredMessage | undefined): Refused | null {
  const { try: made, head } = (message?.metadata?.[REFUSED_KEY] ?? {}) as Partial<Refused>;
  return typeof made === 'number' && typeof head === 'number' ? { try: made, head } : null;
}
