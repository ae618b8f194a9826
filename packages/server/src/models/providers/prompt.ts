import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import type { ContentPart } from '@troupe/protocol';
import type { ModelCall, ModelMessage, ModelRequest } from '../../kernel/ports.ts';
import { cacheUpTo } from './caching.ts';
import type { RemoteKind } from './endpoint.ts';
import { withThoughts } from './thoughts.ts';

/** All providers accept ids of this form; what other models made up may not be one. */
const WIRE_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** The request as the packages want it, so that every provider accepts it whatever happened in the run. */
export function promptOf(request: ModelRequest, kind: RemoteKind): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  if (request.system !== '') prompt.push({ role: 'system', content: request.system });
  const ids = new WireIds();
  const images = imagesFor(request, kind);
  let shown: ContentPart[] = [];
  const showImages = () => {
    const parts = shown.map(toPart).filter((part) => part !== undefined);
    if (parts.length > 0) prompt.push({ role: 'user', content: [IMAGES_OF_TOOLS, ...parts] });
    shown = [];
  };
  for (const message of request.messages) {
    // Every result of a step must follow its calls: images that results cannot contain come after the last result.
    if (message.role !== 'tool') showImages();
    else if (images.ofTools === 'after') shown.push(...(message.parts ?? []));
    const converted = toPrompt(message, kind, ids, images);
    if (converted) prompt.push(converted);
  }
  showImages();
  // Anthropic refuses a conversation that the model begins, as a history cut at any place may.
  const first = prompt.findIndex((message) => message.role !== 'system');
  if (kind === 'anthropic' && prompt[first]?.role === 'assistant') prompt.splice(first, 0, user('(earlier)'));
  if (kind === 'anthropic') cacheUpTo(prompt);
  return prompt;
}

const IMAGES_OF_TOOLS = { type: 'text' as const, text: '[images in the results above]' };
const NO_IMAGES = 'left out: this model does not accept images';

interface TakenImages {
  /** Whether images of people are sent. */
  ofUsers: boolean;
  /** Images of tools: within the result, in a message after it, or never. */
  ofTools: 'within' | 'after' | 'never';
}

/** Many compatible servers refuse images of tools, so these are sent only if the model declares `imageInput`. */
function imagesFor({ imageInput }: ModelRequest, kind: RemoteKind): TakenImages {
  const ofTools = imageInput ?? kind !== 'openai_compatible';
  const place = kind === 'openai_compatible' ? 'after' : 'within';
  return { ofUsers: imageInput ?? true, ofTools: ofTools ? place : 'never' };
}

function toPrompt(
  message: ModelMessage,
  kind: RemoteKind,
  ids: WireIds,
  images: TakenImages,
): LanguageModelV4Message | undefined {
  switch (message.role) {
    case 'system':
      // In the middle of a conversation only OpenAI itself takes it for sure.
      if (message.text === '') return undefined;
      return kind === 'openai' ? { role: 'system', content: message.text } : user(`[system] ${message.text}`);
    case 'user':
      return { role: 'user', content: userContent(message, images) };
    case 'assistant': {
      const calls = message.calls.map((call) => ({
        type: 'tool-call' as const,
        toolCallId: ids.ofCall(call.id),
        toolName: call.name,
        input: inputOf(call),
      }));
      if (message.text.trim() === '' && calls.length === 0) return undefined;
      return { role: 'assistant', content: withThoughts(message.text, calls, message.reasoningParts, kind) };
    }
    case 'tool': {
      const toolCallId = ids.ofResult(message.callId);
      // A result whose call was cut off is refused as such by every provider.
      if (toolCallId === undefined) {
        return user(`[result of ${message.name}] ${JSON.stringify(message.output)}`);
      }
      const result = { type: 'tool-result' as const, toolCallId, toolName: message.name };
      return { role: 'tool', content: [{ ...result, output: outputOf(message, images) }] };
    }
  }
}

function user(text: string): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

function userContent(message: ModelMessage & { role: 'user' }, { ofUsers }: TakenImages): UserPart[] {
  const said = message.name === undefined ? '' : `${message.name}: `;
  const parts: UserPart[] = (message.parts ?? [{ type: 'text' as const, text: message.text }])
    .map((part) =>
      toPart(part.type === 'image' && !ofUsers ? { type: 'text', text: `[image ${NO_IMAGES}]` } : part),
    )
    .filter((part) => part !== undefined);
  if (said !== '') {
    const first = parts.find((part) => part.type === 'text');
    if (first) first.text = said + first.text;
    else parts.unshift({ type: 'text', text: said });
  }
  return parts.length > 0 ? parts : [{ type: 'text', text: '(no text)' }];
}

/** Undefined for blank text, which some providers refuse. */
function toPart(part: ContentPart): UserPart | undefined {
  if (part.type === 'text') return part.text.trim() === '' ? undefined : { type: 'text', text: part.text };
  if (part.base64 !== undefined) {
    return {
      type: 'file',
      mediaType: part.mediaType ?? 'image/png',
      data: { type: 'data', data: part.base64 },
    };
  }
  if (part.url === undefined) return undefined;
  return {
    type: 'file',
    mediaType: part.mediaType ?? 'image/*',
    data: { type: 'url', url: new URL(part.url) },
  };
}

/** Always an object: Anthropic takes nothing else, and some servers parse the text that the others take. */
function inputOf(call: ModelCall): Record<string, unknown> {
  if (call.invalid !== undefined) return { invalidArguments: call.invalid };
  const args = call.arguments;
  if (args === null) return {};
  return typeof args === 'object' && !Array.isArray(args) ? args : { value: args };
}

function outputOf(
  { output, isError, parts = [] }: ModelMessage & { role: 'tool' },
  { ofTools }: TakenImages,
): LanguageModelV4ToolResultOutput {
  const text = typeof output === 'string' ? output : undefined;
  if (parts.length > 0) {
    const words = text ?? JSON.stringify(output);
    if (ofTools === 'after') return { type: 'text', value: words };
    if (ofTools === 'never') return { type: 'text', value: `${words}\n[${countOf(parts)} ${NO_IMAGES}]` };
    const files = parts.map(toPart).filter((part) => part !== undefined);
    return { type: 'content', value: [{ type: 'text', text: words }, ...files] };
  }
  if (isError) return text ? { type: 'error-text', value: text } : { type: 'error-json', value: output };
  return text ? { type: 'text', value: text } : { type: 'json', value: output };
}

function countOf({ length }: readonly ContentPart[]): string {
  return length === 1 ? '1 image' : `${length} images`;
}

/** Ids are unique within a run only, and a history may hold several runs: repeated and odd ones are replaced. */
class WireIds {
  readonly #used = new Set<string>();
  /** The latest call of each id; its result follows before the id can come again. */
  readonly #open = new Map<string, string>();

  ofCall(id: string): string {
    let wire = id;
    for (let n = this.#used.size; !WIRE_ID.test(wire) || this.#used.has(wire); n++) wire = `call_${n}`;
    this.#used.add(wire);
    this.#open.set(id, wire);
    return wire;
  }

  ofResult(id: string): string | undefined {
    const wire = this.#open.get(id);
    this.#open.delete(id);
    return wire;
  }
}
