import type { AgentSnapshot, Json } from '@troupe/protocol';
import { boundMedia, messageOf, splitMedia, TroupeError } from '../base/index.ts';
import { orAborted } from './abort.ts';
import { asJson, DEEPEST } from './plain-json.ts';
import { HANDED_OVER, type HandedOver, type ToolContext, type Tools } from './ports.ts';
import type { FinishedCall } from './state.ts';

const LONGEST_ERROR = 4_000;

/**
 * Executes one call. Whatever happens is a result, or that somebody else will bring one: nothing that a tool does can end the
 * run or the process.
 */
export async function act(
  tools: Tools,
  snapshot: AgentSnapshot,
  call: { id: string; tool: string; args: Json },
  context: Omit<ToolContext, 'callId'>,
): Promise<FinishedCall | HandedOver> {
  const { id } = call;
  const tool = snapshot.tools.find((candidate) => candidate.name === call.tool);
  const unavailable = () => failed(id, 'tool_unavailable', `No worker here can execute \`${call.tool}\`.`);
  if (!tool) return unavailable();
  const controller = new AbortController();
  const onOuter = () => controller.abort(context.signal.reason);
  if (context.signal.aborted) onOuter();
  else context.signal.addEventListener('abort', onOuter, { once: true });
  const timer = setTimeout(
    () =>
      controller.abort(
        new TroupeError(
          'tool_timeout',
          `\`${tool.name}\` did not end within ${tool.timeoutMs} ms; it may have taken effect all the same.`,
        ),
      ),
    tool.timeoutMs,
  );
  try {
    const execute = tools.resolve(tool);
    if (!execute) return unavailable();
    const work = (async () => execute(call.args, { ...context, callId: id, signal: controller.signal }))();
    const answer = await orAborted(work, controller.signal);
    if (answer === HANDED_OVER) return HANDED_OVER;
    const output = asJson(answer);
    const value = boundMedia(output.value);
    // Media have a limit of their own.
    const bytes = output.bytes - splitMedia(output.value).size;
    if (bytes > snapshot.limits.toolOutputBytes) {
      return failed(
        id,
        'output_too_large',
        `\`${tool.name}\` returned ${bytes} bytes; at most ${snapshot.limits.toolOutputBytes} are allowed. The tool has run; request less output.`,
      );
    }
    if (output.depth > DEEPEST) {
      return failed(
        id,
        'output_too_deep',
        `\`${tool.name}\` returned JSON nested too deep; at most ${DEEPEST} levels are taken. It has run.`,
      );
    }
    return { id, status: 'completed', output: value };
  } catch (error) {
    const code = error instanceof TroupeError ? error.code : 'tool_error';
    return failed(
      id,
      code,
      (messageOf(error) || `\`${tool.name}\` failed without saying why.`).slice(0, LONGEST_ERROR),
    );
  } finally {
    clearTimeout(timer);
    context.signal.removeEventListener('abort', onOuter);
  }
}

function failed(id: string, code: string, message: string): FinishedCall {
  return { id, status: 'failed', error: { code, message } };
}
