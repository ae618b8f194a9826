import type { Json } from '@troupe/protocol';
import type { ModelCall, ModelIo, ModelRequest } from '../../kernel/ports.ts';
import { callId } from '../call-ids.ts';

const USABLE_ID = /^[a-zA-Z0-9_-]{1,64}$/;

interface Streamed {
  id: string;
  /** What the provider calls it; not always unique. */
  wireId: string;
  name: string;
  text: string;
  finished: boolean;
}

/** The calls of an answer as they come in pieces, in the order they began. */
export class StreamedCalls {
  readonly #request: ModelRequest;
  readonly #onDelta: ModelIo['onDelta'];
  readonly #used: Set<string>;
  readonly #calls: Streamed[] = [];

  constructor(request: ModelRequest, onDelta: ModelIo['onDelta']) {
    this.#request = request;
    this.#onDelta = onDelta;
    this.#used = new Set(
      request.messages.flatMap((message) =>
        message.role === 'assistant' ? message.calls.map((call) => call.id) : [],
      ),
    );
  }

  get count(): number {
    return this.#calls.length;
  }

  start(wireId: string, name: string): Streamed {
    const call = { id: this.#idFor(wireId), wireId, name, text: '', finished: false };
    this.#calls.push(call);
    return call;
  }

  piece(wireId: string, text: string): void {
    const call = this.#calls.findLast((each) => each.wireId === wireId && !each.finished);
    if (call) this.#add(call, text);
  }

  /** The whole input once more; what was not streamed of it is passed on now. */
  finish(wireId: string, name: string, input: string): void {
    const call =
      this.#calls.find((each) => each.wireId === wireId && !each.finished) ?? this.start(wireId, name);
    if (input.startsWith(call.text)) this.#add(call, input.slice(call.text.length));
    call.text = input;
    call.finished = true;
  }

  /**
   * A call that was begun and not finished is among them, with as much of its input as came. Where the answer was cut off,
   * the last call without arguments is one whose arguments did not come, and not one that has none.
   */
  all(cutOff: boolean): ModelCall[] {
    return this.#calls.map(({ id, name, text }, index) => {
      const missing = cutOff && index === this.#calls.length - 1 && /^\s*(\{\s*\})?\s*$/.test(text);
      const args = missing ? undefined : parsed(text);
      return args === undefined
        ? { id, name, arguments: null, invalid: text }
        : { id, name, arguments: args };
    });
  }

  #add(call: Streamed, text: string): void {
    if (text === '') return;
    call.text += text;
    this.#onDelta({ type: 'tool_input', callId: call.id, name: call.name, text });
  }

  /** Ids must be unique within the run, and some servers count from zero in every answer. */
  #idFor(wireId: string): string {
    let id = wireId;
    for (let n = this.#calls.length; !USABLE_ID.test(id) || this.#used.has(id); n++) {
      id = callId(this.#request, n);
    }
    this.#used.add(id);
    return id;
  }
}

/** Undefined where it is not JSON. No text at all stands for no arguments. */
function parsed(text: string): Json | undefined {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
