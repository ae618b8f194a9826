/** ToolLoopAgent of the AI SDK: nothing is durable. The cost of the loop alone. */
import { type ModelMessage, stepCountIs, ToolLoopAgent, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import type { Adapter } from '../../adapter.ts';
import { history, runTool, TOOL_DESCRIPTION, TOOL_NAME, userText } from '../../scenario.ts';
import { generate } from './fake-language-model.ts';

interface State {
  answer(messages: ModelMessage[]): Promise<{ text: string; added: ModelMessage[] }>;
  conversations: Map<string, ModelMessage[]>;
}

export const adapter: Adapter<State> = {
  async setUp() {
    const lookup = tool({
      description: TOOL_DESCRIPTION,
      inputSchema: z.object({ run: z.string(), step: z.number(), ms: z.number() }),
      execute: runTool,
    });
    const model = new MockLanguageModelV4({ doGenerate: generate });
    const agent = new ToolLoopAgent({ model, tools: { [TOOL_NAME]: lookup }, stopWhen: stepCountIs(50) });
    return {
      async answer(messages) {
        const { text, response } = await agent.generate({ messages });
        // The mock keeps every prompt it has seen, which is not the library's memory.
        model.doGenerateCalls.length = 0;
        return { text, added: response.messages };
      },
      conversations: new Map(),
    };
  },

  async run({ answer }, runId, options) {
    return (await answer([{ role: 'user', content: userText(runId, options) }])).text;
  },

  async seed({ conversations }, conversation, count) {
    conversations.set(
      conversation,
      history(count).map(({ role, text }) => ({ role, content: text })),
    );
  },

  async turn({ answer, conversations }, conversation, runId, options) {
    const messages = conversations.get(conversation)!;
    messages.push({ role: 'user', content: userText(runId, options) });
    const { text, added } = await answer(messages);
    messages.push(...added);
    return text;
  },
};
