import type { ModelCall, ModelMessage, ModelRequest } from '../kernel/ports.ts';

// The models of this room have no tokenizer. A token is four UTF-16 code units, rounded up once over the whole
// input or output: exact, the same in every process, and known before the call, so a reservation made from
// `inputTokens` is never exceeded.

const UNITS_PER_TOKEN = 4;

export function inputTokens(request: ModelRequest): number {
  let units = request.system.length;
  for (const message of request.messages) units += messageUnits(message);
  for (const tool of request.tools) {
    units += tool.name.length + tool.description.length + JSON.stringify(tool.inputSchema).length;
  }
  return Math.ceil(units / UNITS_PER_TOKEN);
}

export function outputTokens(text: string, calls: readonly ModelCall[], reasoning = ''): number {
  let units = text.length + reasoning.length;
  for (const call of calls) units += callUnits(call);
  return Math.ceil(units / UNITS_PER_TOKEN);
}

/** The code units that so many tokens hold. */
export function unitsOf(tokens: number): number {
  return tokens * UNITS_PER_TOKEN;
}

export function callUnits(call: Pick<ModelCall, 'name' | 'arguments' | 'invalid'>): number {
  return call.name.length + argumentsText(call).length;
}

/** The arguments as the model wrote them. */
export function argumentsText(call: Pick<ModelCall, 'arguments' | 'invalid'>): string {
  return call.invalid ?? JSON.stringify(call.arguments);
}

function messageUnits(message: ModelMessage): number {
  if (message.role === 'tool') return message.name.length + JSON.stringify(message.output).length;
  if (message.role !== 'assistant') return message.text.length + (message.name?.length ?? 0);
  return message.calls.reduce((units, call) => units + callUnits(call), message.text.length);
}
