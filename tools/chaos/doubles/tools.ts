import type { ServerResponse } from 'node:http';
import type { Random } from '../random.ts';
import { openDouble, reply } from './server.ts';

/** One request that reached a tool: an effect in the world. */
export interface Effect {
  tool: string;
  key: string;
  body: string;
  at: number;
}

/** `fail`: refused before the effect. `lose`: the effect happens, the answer is lost. `hang`: it happens, no answer comes. */
export type ToolFault = 'fail' | 'lose' | 'hang';

/** The tools of the agents over HTTP. Every request is kept with its idempotency key. */
export class ToolDouble {
  readonly effects: Effect[] = [];
  readonly #random: Random;
  readonly #hanging = new Set<ServerResponse>();
  #fault: { kind: ToolFault; share: number } | null = null;
  #close: () => Promise<void> = async () => {};
  host = '';
  url = '';

  private constructor(random: Random) {
    this.#random = random;
  }

  static async open(random: Random): Promise<ToolDouble> {
    const tools = new ToolDouble(random);
    const { host, url, close } = await openDouble((request, body, response) => {
      const tool = new URL(request.url!, url).pathname.slice(1);
      const fault = tools.#fault && tools.#random.chance(tools.#fault.share) ? tools.#fault.kind : null;
      if (fault === 'fail') return reply(response, 500, { error: 'the tool failed' });
      const key = String(request.headers['idempotency-key']);
      tools.effects.push({ tool, key, body: body || request.url!, at: Date.now() });
      if (fault === 'lose') response.socket!.destroy();
      else if (fault === 'hang') tools.#hanging.add(response);
      else reply(response, 200, { done: key });
    });
    Object.assign(tools, { host, url });
    tools.#close = close;
    return tools;
  }

  fail(kind: ToolFault, share: number): void {
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
}
