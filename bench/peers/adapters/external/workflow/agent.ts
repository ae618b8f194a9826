/** The loop as a workflow, one step per model call and per tool call. The SDK's command compiles it (see install.ts). */
import pg from 'pg';
import { decidePlain, type PlainMessage, runTool, type ToolArguments } from '../../../scenario.ts';
import { append, load } from '../message-table.ts';

const shared = globalThis as { benchPool?: pg.Pool };

function pool(): pg.Pool {
  shared.benchPool ??= new pg.Pool({ connectionString: process.env.WORKFLOW_POSTGRES_URL, max: 20 });
  return shared.benchPool;
}

export async function model(messages: PlainMessage[], conversation?: string) {
  'use step';
  return decidePlain(conversation ? [...(await load(pool(), conversation)), ...messages] : messages);
}

export async function callTool(args: ToolArguments) {
  'use step';
  return runTool(args);
}

export async function save(conversation: string, messages: PlainMessage[]) {
  'use step';
  await append(pool(), conversation, messages);
}

export async function agent(text: string, conversation?: string): Promise<string> {
  'use workflow';
  const messages: PlainMessage[] = [{ role: 'user', text }];
  for (;;) {
    const { call, text: answer = '' } = await model(messages, conversation);
    messages.push({ role: 'assistant', text: answer, ...(call ? { call } : {}) });
    if (!call) {
      if (conversation) await save(conversation, messages);
      return answer;
    }
    messages.push({ role: 'tool', text: await callTool(call.args), id: call.id });
  }
}
