/** The scripted model behind the interface of the AI SDK, which Mastra uses as well. */
import { type Decision, decideFrom, TOOL_NAME } from '../../scenario.ts';

interface PromptMessage {
  role: string;
  content: string | readonly { type: string; text?: string }[];
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const metadata = { usage, warnings: [] };

function decidePrompt(prompt: readonly PromptMessage[]): Promise<Decision> {
  return decideFrom(
    prompt,
    ({ role }) => (role === 'user' || role === 'tool' ? role : 'other'),
    ({ content }) => (typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')),
  );
}

function finishReason({ call }: Decision) {
  return { unified: call ? ('tool-calls' as const) : ('stop' as const), raw: undefined };
}

function toolCall({ id, args }: NonNullable<Decision['call']>) {
  return {
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: TOOL_NAME,
    input: JSON.stringify(args),
  };
}

export async function generate({ prompt }: { prompt: readonly PromptMessage[] }) {
  const decision = await decidePrompt(prompt);
  const { call, text = '' } = decision;
  return {
    content: [call ? toolCall(call) : { type: 'text' as const, text }],
    finishReason: finishReason(decision),
    ...metadata,
  };
}

export async function stream({ prompt }: { prompt: readonly PromptMessage[] }) {
  const decision = await decidePrompt(prompt);
  const { call, text = '' } = decision;
  const parts = [
    { type: 'stream-start' as const, warnings: [] },
    ...(call
      ? [toolCall(call)]
      : [
          { type: 'text-start' as const, id: '1' },
          { type: 'text-delta' as const, id: '1', delta: text },
          { type: 'text-end' as const, id: '1' },
        ]),
    { type: 'finish' as const, finishReason: finishReason(decision), usage },
  ];
  return { stream: ReadableStream.from(parts) };
}
