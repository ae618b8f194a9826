import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request that the double answered. */
export interface Heard {
  isSummary: boolean;
  text: string;
  tokens: number;
}

interface Body {
  messages: { role: string; content: unknown }[];
}

/** Values have this form and nothing else in the conversation has. */
const VALUE = /\d+-\d+x/g;
const STATEMENT = /the [a-z ]+ of the [a-z]+ \d+ is \d+-\d+x/gi;

/**
 * A provider on loopback with the chat completions API. It answers questions only from statements in the request, and its
 * summaries repeat the statements of the request.
 */
export async function startDouble(): Promise<{ url: string; heard: Heard[]; close(): Promise<void> }> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as Body;
    const text = messages.map(({ content }) => textIn(content)).join('\n');
    const isSummary = textIn(messages[0]?.content).startsWith('You keep the memory');
    // Four characters are a token, as in the estimate of most providers.
    const tokens = Math.ceil(text.length / 4);
    heard.push({ isSummary, text, tokens });
    stream(response, isSummary ? statementsIn(text).join('\n') : answer(messages, text), tokens);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function answer(messages: Body['messages'], text: string): string {
  const asked = /What is (the [a-z ]+ of the [a-z]+ \d+)\?/.exec(textIn(messages.at(-1)?.content))?.[1];
  if (asked === undefined) return 'I see.';
  const statement = statementsIn(text).find((one) => one.toLowerCase().startsWith(asked.toLowerCase()));
  return statement?.match(VALUE)?.[0] ?? 'I do not know.';
}

function statementsIn(text: string): string[] {
  return [...new Set(text.match(STATEMENT) ?? ['Nothing to note.'])];
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: string }) => part.text ?? '').join('');
}

function stream(response: ServerResponse, text: string, tokens: number): void {
  const chunk = (fields: object) =>
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'double', ...fields })}\n\n`;
  const usage = {
    prompt_tokens: tokens,
    completion_tokens: Math.ceil(text.length / 4),
    total_tokens: tokens + Math.ceil(text.length / 4),
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(
    chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }] }),
  );
  response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
  response.write(chunk({ choices: [], usage }));
  response.end('data: [DONE]\n\n');
}
