/**
 * Restate: a service handler with ctx.run around every model call and every tool call. The server keeps its log on its
 * own disk, not in Postgres. W2 uses a virtual object whose state holds the conversation, as Restate's agent examples do.
 */
import { once } from 'node:events';
import { createServer } from 'node:http2';
import * as restate from '@restatedev/restate-sdk';
import * as clients from '@restatedev/restate-sdk-clients';
import type { Adapter, Ports } from '../../adapter.ts';
import { decidePlain, history, type PlainMessage, runTool, userText } from '../../scenario.ts';

async function loop(context: restate.Context, messages: PlainMessage[]): Promise<string> {
  for (;;) {
    const { call, text = '' } = await context.run('model', () => decidePlain(messages));
    messages.push({ role: 'assistant', text, ...(call ? { call } : {}) });
    if (!call) return text;
    const result = await context.run('tool', () => runTool(call.args));
    messages.push({ role: 'tool', text: result, id: call.id });
  }
}

const agent = restate.service({
  name: 'agent',
  handlers: {
    run: (context: restate.Context, text: string) => loop(context, [{ role: 'user', text }]),
  },
});

const conversations = restate.object({
  name: 'conversations',
  handlers: {
    seed: async (context: restate.ObjectContext, count: number) => {
      context.set('messages', history(count));
    },
    turn: async (context: restate.ObjectContext, text: string) => {
      const messages = (await context.get<PlainMessage[]>('messages')) ?? [];
      messages.push({ role: 'user', text });
      const answer = await loop(context, messages);
      context.set('messages', messages);
      return answer;
    },
  },
});

interface State {
  ports: Ports;
  ingress: clients.Ingress;
  finished: Set<string>;
}

export const adapter: Adapter<State> = {
  async setUp({ ports }) {
    const server = createServer(restate.createEndpointHandler({ services: [agent, conversations] }));
    server.listen(ports.worker, '127.0.0.1');
    await once(server, 'listening');
    const response = await fetch(`http://127.0.0.1:${ports.admin}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri: `http://127.0.0.1:${ports.worker}` }),
    });
    const known = response.status === 409;
    if (!response.ok && !known) {
      throw new Error(`Registering the deployment failed: ${response.status} ${await response.text()}`);
    }
    return {
      ports,
      ingress: clients.connect({ url: `http://127.0.0.1:${ports.ingress}` }),
      finished: new Set(),
    };
  },

  run: async ({ ingress }, runId, options) => ingress.serviceClient(agent).run(userText(runId, options)),

  async seed({ ingress }, conversation, count) {
    await ingress.objectClient(conversations, conversation).seed(count);
  },

  turn: async ({ ingress }, conversation, runId, options) =>
    ingress.objectClient(conversations, conversation).turn(userText(runId, options)),

  crash: {
    async start({ ingress }, runId, options, accepted) {
      const handle = await ingress
        .serviceSendClient(agent)
        .run(userText(runId, options), clients.rpc.sendOpts({ idempotencyKey: runId }));
      accepted();
      return ingress.result(handle);
    },

    async finished({ ports, finished }, runIds) {
      const open = runIds.filter((id) => !finished.has(id));
      await Promise.all(
        open.map(async (id) => {
          const url = `http://127.0.0.1:${ports.ingress}/restate/invocation/agent/run/${id}/output`;
          const response = await fetch(url);
          if (response.status === 200) finished.add(id);
          await response.arrayBuffer();
        }),
      );
      return runIds.filter((id) => finished.has(id));
    },
  },
};
