import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import type { Random } from '../random.ts';
import { openDouble, reply } from './server.ts';

/** A delivery that the receiver accepted. */
export interface Received {
  deliveryId: string;
  trigger: string;
  event: string;
  documentId: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** `fail`: 503. `lose`: it is accepted, and the answer is lost. `hang`: no answer comes. */
export type WebhookFault = 'fail' | 'lose' | 'hang';

/** Receives webhooks and verifies their signatures. */
export class Receiver {
  readonly secret = `whsec_${randomBytes(24).toString('base64')}`;
  readonly received: Received[] = [];
  /** Requests whose signature is wrong. */
  readonly forged: string[] = [];
  readonly #random: Random;
  readonly #hanging = new Set<ServerResponse>();
  #fault: { kind: WebhookFault; share: number } | null = null;
  #close: () => Promise<void> = async () => {};
  host = '';
  url = '';

  private constructor(random: Random) {
    this.#random = random;
  }

  static async open(random: Random): Promise<Receiver> {
    const receiver = new Receiver(random);
    const verifier = new Webhook(receiver.secret);
    const { host, url, close } = await openDouble((request, body, response) => {
      const fault =
        receiver.#fault && receiver.#random.chance(receiver.#fault.share) ? receiver.#fault.kind : null;
      if (fault === 'fail') return reply(response, 503, {});
      try {
        verifier.verify(body, request.headers as Record<string, string>);
      } catch (error) {
        receiver.forged.push(`${error}: ${body.slice(0, 200)}`);
        return reply(response, 401, {});
      }
      const told = JSON.parse(body);
      if (fault === 'hang') {
        receiver.#hanging.add(response);
        return;
      }
      receiver.received.push({
        deliveryId: told.deliveryId,
        trigger: told.triggerId,
        event: told.event,
        documentId: told.documentId,
        before: told.before,
        after: told.after,
      });
      if (fault === 'lose') response.socket!.destroy();
      else reply(response, 200, {});
    });
    Object.assign(receiver, { host, url });
    receiver.#close = close;
    return receiver;
  }

  fail(kind: WebhookFault, share: number): void {
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
