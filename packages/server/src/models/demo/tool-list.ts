import type { ModelTool } from '../../kernel/ports.ts';

export function toolList(tools: readonly ModelTool[]): string {
  if (tools.length === 0) return 'I have no tools at all.';
  const shown = tools.slice(0, 12).map((tool) => `\`${tool.name}\``);
  const more = tools.length - shown.length;
  return `My tools are ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}
