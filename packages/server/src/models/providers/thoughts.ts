import type {
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import type { Json } from '@troupe/protocol';
import { z } from 'zod';
import type { RemoteKind } from './endpoint.ts';

// What a model thought, as it goes into an answer's `reasoningParts` and comes out again. Anthropic signs each thought and
// wants it back word for word at its place; OpenAI encrypts it, because nothing is stored there. Compatible servers
// show theirs and want nothing back.

const metadata = z.record(z.string(), z.record(z.string(), z.json()));
const thought = z.object({
  text: z.string(),
  metadata,
  /** Its place: behind so many characters of the answer's text and so many of its calls. */
  characters: z.number().int().nonnegative(),
  calls: z.number().int().nonnegative(),
});
type Thought = z.infer<typeof thought>;

type ReasoningPart = Extract<
  LanguageModelV4StreamPart,
  { type: 'reasoning-start' | 'reasoning-delta' | 'reasoning-end' }
>;

/** Puts thoughts together from what streams in. */
export class StreamedThoughts {
  readonly #thoughts = new Map<string, Thought>();

  add(part: ReasoningPart, place: { characters: number; calls: number }): void {
    let known = this.#thoughts.get(part.id);
    if (!known || part.type === 'reasoning-start') {
      known = { text: '', metadata: {}, ...place };
      // Ids are unique within an answer; were one not, the older thought would be lost.
      const id = this.#thoughts.has(part.id) ? `${part.id} ${this.#thoughts.size}` : part.id;
      this.#thoughts.set(id, known);
    }
    if (part.type === 'reasoning-delta') known.text += part.delta;
    if (part.providerMetadata) merge(known.metadata, part.providerMetadata);
  }

  /** Undefined where there is nothing that could be given back. */
  parts(): Json | undefined {
    const all = [...this.#thoughts.values()];
    return all.some(isSealed) ? all : undefined;
  }
}

function merge(into: Thought['metadata'], from: SharedV4ProviderMetadata): void {
  for (const [provider, facts] of Object.entries(from)) {
    const told = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined);
    into[provider] = { ...into[provider], ...(Object.fromEntries(told) as Record<string, Json>) };
  }
}

function isSealed({ metadata: { anthropic, openai } }: Thought): boolean {
  return Boolean(anthropic?.signature ?? anthropic?.redactedData ?? openai?.reasoningEncryptedContent);
}

type Call = LanguageModelV4ToolCallPart;

/** Text and calls with the thoughts at their places. */
export function withThoughts(text: string, calls: Call[], parts: Json | undefined, kind: RemoteKind) {
  const read = z.array(thought).safeParse(parts);
  const thoughts = read.success && kind !== 'openai_compatible' ? read.data : [];
  let from = 0;
  const upTo = (end: number): LanguageModelV4TextPart[] => {
    const piece = text.slice(from, end);
    from = Math.max(from, end);
    // Blank text is refused by some.
    return piece.trim() === '' ? [] : [{ type: 'text', text: piece }];
  };
  let called = 0;
  const callsUpTo = (end: number): Call[] => {
    const some = calls.slice(called, end);
    called = Math.max(called, end);
    return some;
  };
  return [
    ...thoughts.flatMap((each) => [
      ...upTo(each.characters),
      ...callsUpTo(each.calls),
      { type: 'reasoning' as const, text: each.text, providerOptions: each.metadata },
    ]),
    ...upTo(text.length),
    ...callsUpTo(calls.length),
  ];
}
