/**
 * The work that every system does: a scripted model and one tool.
 * The model is stateless. It reads the last user message, which carries the parameters of the run, and counts the tool
 * results that follow it. So it gives the same answer on a replay and after a crash.
 */

export const TOOL_NAME = 'lookup';
export const TOOL_DESCRIPTION = 'Looks up a record.';

const TEXT_LENGTH = 200;
const SYLLABLES =
  'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu ar en is or ul st pl tr gr bl ch sh th qu ng nd mp lt rk ss'.split(
    ' ',
  );
let seed = 42;
// Compresses about as well as English (by a factor of two to three), so that bytes on disk mean something.
const fillers = Array.from({ length: 4_096 }, prose);
let used = 0;

export interface RunOptions {
  /** Number of tool calls; the run makes one model call more. */
  tools: number;
  /** How long each tool call takes. */
  toolMs: number;
}

export interface ToolArguments {
  run: string;
  step: number;
  ms: number;
}

/** Either a tool call or the final text. */
export interface Decision {
  call?: { id: string; args: ToolArguments };
  text?: string;
}

/** A message as the systems without a message type of their own store it. */
export interface PlainMessage {
  role: 'user' | 'assistant' | 'tool';
  text: string;
  id?: string;
  call?: { id: string; args: ToolArguments };
}

/** Set in W3 only, where every model call and tool execution is recorded. */
export interface Hooks {
  model?: (run: string, step: number) => Promise<unknown>;
  toolStart?: (run: string, step: number) => Promise<unknown>;
  toolDone?: (run: string, step: number) => Promise<unknown>;
}

// On globalThis because Vercel Workflow bundles its own copy of this file.
const shared = globalThis as { troupeBenchHooks?: Hooks };
shared.troupeBenchHooks ??= {};
export const hooks: Hooks = shared.troupeBenchHooks;

export function userText(runId: string, { tools, toolMs }: RunOptions): string {
  return pad(`run=${runId} tools=${tools} ms=${toolMs} Please look up the records and summarise them.`);
}

export async function decide(lastUserText: string, toolResults: number): Promise<Decision> {
  const match = /run=(\S+) tools=(\d+) ms=(\d+)/.exec(lastUserText);
  if (!match) throw new Error('The last user message carries no run parameters.');
  const [run, tools, ms] = [match[1]!, Number(match[2]), Number(match[3])];
  await hooks.model?.(run, toolResults);
  if (toolResults >= tools) return { text: pad(`Done with ${run}.`) };
  return { call: { id: `call_${run}_${toolResults}`, args: { run, step: toolResults, ms } } };
}

/** Decides from a list of messages, given how to read the role and the text of one. */
export function decideFrom<Message>(
  messages: readonly Message[],
  roleOf: (message: Message) => 'user' | 'tool' | 'other',
  textOf: (message: Message) => string,
): Promise<Decision> {
  let results = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!;
    const role = roleOf(message);
    if (role === 'user') return decide(textOf(message), results);
    if (role === 'tool') results++;
  }
  throw new Error('The conversation has no user message.');
}

export function decidePlain(messages: readonly PlainMessage[]): Promise<Decision> {
  return decideFrom(
    messages,
    ({ role }) => (role === 'assistant' ? 'other' : role),
    ({ text }) => text,
  );
}

export async function runTool({ run, step, ms }: ToolArguments): Promise<string> {
  await hooks.toolStart?.(run, step);
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  await hooks.toolDone?.(run, step);
  return pad(`record ${step} of ${run}`);
}

/** Alternating user and assistant messages of 200 characters. */
export function history(count: number): { role: 'user' | 'assistant'; text: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    text: pad(`message ${index} of the earlier conversation`),
  }));
}

export function checkAnswer(runId: string, text: unknown): void {
  if (typeof text === 'string' && text.startsWith(`Done with ${runId}.`)) return;
  throw new Error(`Wrong answer for ${runId}: ${JSON.stringify(text)?.slice(0, 200)}`);
}

function pad(text: string): string {
  if (text.length >= TEXT_LENGTH) return text;
  return `${text} ${fillers[used++ % fillers.length]}`.slice(0, TEXT_LENGTH);
}

function prose(): string {
  let text = '';
  while (text.length < TEXT_LENGTH) {
    for (let count = 2 + random(3); count > 0; count--) text += SYLLABLES[random(SYLLABLES.length)];
    text += ' ';
  }
  return text;
}

function random(below: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}
