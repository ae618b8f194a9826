import type { ServerResponse } from 'node:http';
import { anthropic, chat, type Format } from '../../../packages/server/test/models/wire/formats.ts';
import { refuse, stream } from '../../../packages/server/test/models/wire/server.ts';
import type { Random } from '../random.ts';
import { decide, sayingOf } from './brain.ts';
import { promptOfAnthropic, promptOfChat } from './prompts.ts';
import { openDouble } from './server.ts';

/** How the provider misbehaves. */
export type ModelFault = '429' | '500' | 'garbled' | 'cut' | 'hang' | 'error-in-stream';

/** Providers over HTTP, in two wire formats. Each request is answered by `decide`, unless a fault is on. */
export class ModelDouble {
  readonly requests = { total: 0, failed: 0 };
  readonly #random: Random;
  readonly #hanging = new Set<ServerResponse>();
  #fault: { kind: ModelFault; share: number } | null = null;
  #close: () => Promise<void> = async () => {};
  host = '';
  url = '';

  private constructor(random: Random) {
    this.#random = random;
  }

  static async open(random: Random): Promise<ModelDouble> {
    const model = new ModelDouble(random);
    const { host, url, close } = await openDouble((request, body, response) => {
      const format = request.url?.endsWith('/messages') ? anthropic : chat;
      return model.#answer(format, JSON.parse(body), response);
    });
    Object.assign(model, { host, url });
    model.#close = close;
    return model;
  }

  /** The given share of requests fails in this way until `heal`. */
  fail(kind: ModelFault, share: number): void {
    this.#fault = { kind, share };
  }

  heal(): void {
    this.#fault = null;
    for (const response of this.#hanging) response.destroy();
    this.#hanging.clear();
  }

  async close(): Promise<void> {
    this.heal();
    await this.#close();
  }

  async #answer(format: Format, body: Record<string, unknown>, response: ServerResponse): Promise<void> {
    this.requests.total++;
    const events = format.events(
      sayingOf(decide(format === chat ? promptOfChat(body) : promptOfAnthropic(body))),
    );
    if (!this.#fault || !this.#random.chance(this.#fault.share)) {
      await stream(events)(response);
      return;
    }
    this.requests.failed++;
    const busy = format.refusal({ type: 'overloaded', message: 'Overloaded' });
    const half = events.slice(0, Math.ceil(events.length / 2));
    switch (this.#fault.kind) {
      case '429':
        return refuse(429, busy, { 'retry-after': '1' })(response);
      case '500':
        return refuse(500, busy)(response);
      case 'garbled':
        return stream([...half, 'data: {"choices": [{"delta": \n\n', 'data: }}}\n\n'])(response);
      case 'cut':
        return stream(half, { last: 'cut' })(response);
      case 'error-in-stream':
        return stream([...half, format.failure({ type: 'overloaded_error', message: 'Overloaded' })])(
          response,
        );
      case 'hang':
        this.#hanging.add(response);
        return stream(half, { last: 'silence' })(response);
    }
  }
}
