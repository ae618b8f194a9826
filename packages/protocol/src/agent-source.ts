import { z } from 'zod';

// Agents in the format of the source documents: inline tool definitions, and the definition within `configJson`.

/** Moves definitions of tools from `tools` to `inlineTools` and leaves their names. */
export function agentSource<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(fromSource, schema) as z.ZodType<z.output<Schema>, AgentInput<z.input<Schema>>>;
}

type AgentInput<Agent> = Omit<Agent, 'tools'> & {
  tools?: (string | { name: string; [field: string]: unknown })[] | null | undefined;
};

function fromSource(given: unknown): unknown {
  if (!isObject(given)) return given;
  const { configJson, ...own } = given;
  const agent = isObject(configJson) ? { ...configJson, ...own } : given;
  const { tools, inlineTools } = agent;
  if (!Array.isArray(tools)) return agent;
  const inline = tools.filter(isObject);
  if (inline.length === 0) return agent;
  return {
    ...agent,
    tools: tools.map((tool) => (isObject(tool) ? (tool.name ?? tool.key) : tool)),
    inlineTools: [...(Array.isArray(inlineTools) ? inlineTools : []), ...inline],
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
