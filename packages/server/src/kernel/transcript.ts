import type { ContentPart, Json, TextContent, ToolCallContent, ToolResultContent } from '@troupe/protocol';
import { splitMedia } from '../base/index.ts';
import type { StoredMessage } from '../store/index.ts';
import type { ModelMessage } from './ports.ts';
import { type Continuing, reasoningFor } from './reasoning.ts';

/**
 * The transcript as a model reads it: text and calls of one step become one assistant message, and every call is
 * followed by its result. A call without a result (the history was cut there) is left out together with it.
 * `instead`: what a door has the model read in place of a message of the role `system`.
 * `continuing`: the run that goes on and its model, which gets back what it thought in this run.
 */
export function toModelMessages(
  transcript: readonly StoredMessage[],
  continuing?: Continuing,
  instead?: (message: StoredMessage) => ModelMessage[] | null,
): ModelMessage[] {
  const results = resultsOf(transcript);
  const out: ModelMessage[] = [];
  let current: (ModelMessage & { role: 'assistant' }) | null = null;
  let currentRun: string | null = null;
  let currentStep: number | null = null;
  let pending: ModelMessage[] = [];
  const close = () => {
    if (current) out.push(current, ...pending);
    current = null;
    pending = [];
  };
  for (const message of transcript) {
    switch (message.role) {
      case 'user': {
        close();
        const { text, parts } = message.content as TextContent;
        out.push(
          parts?.length ? { role: 'user', text, parts: allParts(text, parts) } : { role: 'user', text },
        );
        break;
      }
      case 'system':
        close();
        out.push(
          ...(instead?.(message) ?? [
            { role: 'system' as const, text: (message.content as TextContent).text },
          ]),
        );
        break;
      case 'assistant':
      case 'tool_call': {
        if (!current || currentRun !== message.runId || currentStep !== message.step) {
          close();
          current = { role: 'assistant', text: '', calls: [] };
          currentRun = message.runId;
          currentStep = message.step;
        }
        if (message.role === 'assistant') {
          current.text += (message.content as TextContent).text;
          break;
        }
        const result = results(message);
        if (!result) break;
        const thought = continuing && reasoningFor(continuing, message);
        if (thought !== undefined) current.reasoningParts = thought;
        const call = message.content as ToolCallContent;
        const told = result.content as ToolResultContent;
        current.calls.push({ id: call.id, name: call.name, arguments: call.arguments });
        const { output, images } = outputOf(told);
        pending.push({
          role: 'tool',
          callId: call.id,
          name: call.name,
          output,
          isError: told.error !== null,
          ...(images.length > 0 ? { parts: images } : {}),
        });
        break;
      }
      case 'tool_result':
        break;
    }
  }
  close();
  return out.filter(
    (message) => message.role !== 'assistant' || message.text !== '' || message.calls.length > 0,
  );
}

const EDITED =
  'A person changed the arguments before they let this call through. It was made with those in calledWith, not with yours.';

function outputOf({ result, error, calledWith }: ToolResultContent): { output: Json; images: ContentPart[] } {
  if (error)
    return { output: calledWith === undefined ? error : { ...error, note: EDITED, calledWith }, images: [] };
  const { output, images } = splitMedia(result ?? null);
  return { output: calledWith === undefined ? output : { note: EDITED, calledWith, result: output }, images };
}

/** The text is said before the parts, unless they say it as well: some clients repeat what is in the parts as the text. */
function allParts(text: string, parts: ContentPart[]): ContentPart[] {
  const inParts = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const isSaid = text.trim() === '' || unspaced(text) === unspaced(inParts);
  return isSaid ? parts : [{ type: 'text', text }, ...parts];
}

/** Who repeats the parts joins them with a line, a space or nothing. */
function unspaced(text: string): string {
  return text.replaceAll(/\s+/g, '');
}

/** Finds the result of a call. Ids of calls are unique within a run only; two runs of a thread seldom share one. */
function resultsOf(transcript: readonly StoredMessage[]): (call: StoredMessage) => StoredMessage | undefined {
  const results = new Map<string, StoredMessage>();
  const others = new Map<string, StoredMessage>();
  for (const message of transcript) {
    if (message.role !== 'tool_result' || message.callId === null) continue;
    const before = results.get(message.callId);
    if (before && before.runId !== message.runId) others.set(`${message.runId}:${message.callId}`, message);
    else results.set(message.callId, message);
  }
  return (call) => {
    const result = results.get(call.callId!);
    return result?.runId === call.runId ? result : others.get(`${call.runId}:${call.callId}`);
  };
}
