import type { ModelCall, ModelMessage, ModelRequest, ModelTool } from '../../kernel/ports.ts';
import { type Heard, heardIn } from './heard.ts';
import { type News, newsIn } from './tasks.ts';

export type ToolResult = Extract<ModelMessage, { role: 'tool' }>;

/** What the rules look at. */
export interface Situation {
  request: ModelRequest;
  /** What the agent may call now: nothing where the request forbids it. */
  tools: ReadonlyMap<string, ModelTool>;
  /** It has tools, but may not use them in this step. */
  toolsForbidden: boolean;
  /** Undefined where nobody said anything. */
  heard: Heard | undefined;
  /** Set where the last thing that happened is the end of the agent's own calls. */
  ended: { calls: ModelCall[]; results: ToolResult[] } | undefined;
  /** What the agent is told of a task, where that is what it has to answer to. */
  news: News | undefined;
  /** The last thing that happened is the agent's own answer: there is nothing to add. */
  answered: boolean;
}

export function situationOf(request: ModelRequest): Situation {
  const messages = request.messages.filter((message) => message.role !== 'system');
  const last = messages.at(-1);
  const news = newsIn(request);
  const forbidden = request.toolChoice === 'none';
  return {
    request,
    tools: new Map(forbidden ? [] : request.tools.map((tool) => [tool.name, tool])),
    toolsForbidden: forbidden && request.tools.length > 0,
    heard: heardIn(request),
    ended: last?.role === 'tool' ? endedCalls(messages) : undefined,
    news,
    answered: last?.role === 'assistant',
  };
}

function endedCalls(messages: ModelMessage[]): { calls: ModelCall[]; results: ToolResult[] } {
  const at = messages.findLastIndex((message) => message.role !== 'tool');
  const asked = messages[at];
  return {
    calls: asked?.role === 'assistant' ? asked.calls : [],
    results: messages.slice(at + 1).filter((message) => message.role === 'tool'),
  };
}
