import { Hono } from 'hono';
import { webhookKeys } from '../../access/index.ts';
import { Refusal } from '../../base/index.ts';
import { answerOwn, HANDLERS } from '../../triggers/index.ts';
import type { Services } from '../services.ts';

export const WEBHOOKS = HANDLERS.map((handler) => `/webhook/${handler}`);

/** Images of a document, before and after. */
const MOST_BYTES = 16 * 1024 * 1024;

/** What triggers of this server tell to the addresses that rules of the source name. Who signed is who may. */
export function webhookRoutes(services: () => Services): Hono {
  const app = new Hono();
  for (const handler of HANDLERS) {
    app.post(`/webhook/${handler}`, async (context) => {
      const { db, kernel, access } = services();
      const ownKeys = (project: string) => webhookKeys(access.encryption, project);
      const body = await textOf(context.req.raw.body);
      return context.json(
        await answerOwn({ db, kernel, ownKeys }, handler, { headers: context.req.raw.headers, body }),
      );
    });
  }
  return app;
}

async function textOf(stream: ReadableStream<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES)
      throw new Refusal('too_large', 'body_too_large', `A body has ${MOST_BYTES} bytes at most.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
