import type { Api } from '@troupe/sdk';

/** A prompt as one text, to copy it or to compare it with another. */
export function promptText(
  prompt: Pick<Api.Prompt, 'system' | 'messages' | 'tools' | 'settings' | 'model'>,
): string {
  const { maxOutputTokens, reasoningEffort, toolChoice, answerSchema } = prompt.settings;
  return [
    '# Settings',
    `model: ${prompt.model}`,
    `maxOutputTokens: ${maxOutputTokens}`,
    `reasoningEffort: ${reasoningEffort ?? 'none given'}`,
    `toolChoice: ${toolChoice}`,
    ...(answerSchema ? [`answerSchema: ${JSON.stringify(answerSchema, null, 2)}`] : []),
    '',
    '# System',
    prompt.system,
    '',
    ...prompt.messages.flatMap((message) => [`# ${message.role}`, messageText(message), '']),
    ...prompt.tools.flatMap((tool) => [
      `# Tool ${tool.name}`,
      tool.description,
      JSON.stringify(tool.inputSchema, null, 2),
      '',
    ]),
  ].join('\n');
}

function messageText(message: Api.PromptMessage): string {
  if (message.role === 'tool') return `${message.name}: ${JSON.stringify(message.output, null, 2)}`;
  const calls =
    message.role === 'assistant'
      ? message.calls.map(({ name, arguments: given }) => `→ ${name} ${JSON.stringify(given, null, 2)}`)
      : [];
  return [...(message.text ? [message.text] : []), ...calls].join('\n');
}
