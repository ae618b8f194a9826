import type { Prompt, Turn } from './brain.ts';

// From the requests of two providers to what the brain reads.

interface Part {
  type: string;
  text?: string;
  name?: string;
  content?: string | Part[];
}
interface ChatMessage {
  role: string;
  content: string | Part[] | null;
  tool_calls?: { function: { name: string } }[];
}

const textOf = (content: string | Part[] | null | undefined): string =>
  typeof content === 'string'
    ? content
    : (content ?? []).map((part) => part.text ?? textOf(part.content)).join('\n');

export function promptOfChat(body: Record<string, unknown>): Prompt {
  const messages = body.messages as ChatMessage[];
  const tools = (body.tools ?? []) as { function: { name: string } }[];
  return {
    turns: messages.map(({ role, content, tool_calls = [] }) => ({
      role: role as Turn['role'],
      text: textOf(content),
      calls: tool_calls.map(({ function: { name } }) => name),
    })),
    tools: tools.map(({ function: { name } }) => name),
  };
}

export function promptOfAnthropic(body: Record<string, unknown>): Prompt {
  const messages = body.messages as { role: 'user' | 'assistant'; content: string | Part[] }[];
  const tools = (body.tools ?? []) as { name: string }[];
  const system: Turn = { role: 'system', text: textOf(body.system as string | Part[]), calls: [] };
  const turns = messages.flatMap(({ role, content }): Turn[] => {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    if (role === 'assistant')
      return [
        {
          role,
          text: textOf(parts.filter(({ type }) => type === 'text')),
          calls: parts.flatMap(({ type, name }) => (type === 'tool_use' ? [name!] : [])),
        },
      ];
    // Results and messages of the user share a turn here.
    return parts.map((part) => ({
      role: part.type === 'tool_result' ? 'tool' : 'user',
      text: part.text ?? textOf(part.content),
      calls: [],
    }));
  });
  return { turns: [system, ...turns], tools: tools.map(({ name }) => name) };
}
