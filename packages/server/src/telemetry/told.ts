import { type SpanContext, SpanKind } from '@opentelemetry/api';
import type { Json } from '@troupe/protocol';
import type { ModelCalled, ToolCalled } from '../kernel/index.ts';
import type { ClaimedRun, EndedRun, EndedStep } from '../store/index.ts';
import { modelSpanId, runSpanId, stepSpanId, toolSpanId, traceId } from './ids.ts';
import type { Told } from './span.ts';

// What becomes which span, with the names of the conventions for generative AI (open-telemetry/semantic-conventions-genai) and ours.
// Nothing here is content: ids, names that people gave to definitions, counts, codes.

export function modelTold(
  run: ClaimedRun,
  called: ModelCalled & { step: number; attempt: number; thought: number },
): Told {
  const { provider, model, finishReason, usage } = called;
  return {
    ...common(run, called),
    name: `chat ${model}`,
    kind: SpanKind.CLIENT,
    id: modelSpanId(run.id, run.epoch, called.thought),
    attributes: {
      ...ofRun(run),
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      'gen_ai.response.finish_reasons': finishReason && [finishReason],
      'gen_ai.usage.input_tokens': usage?.inputTokens,
      'gen_ai.usage.output_tokens': usage?.outputTokens,
      'gen_ai.usage.cache_read.input_tokens': usage?.cacheReadTokens,
      'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWriteTokens,
      'troupe.step': called.step,
      'troupe.attempt': called.attempt,
    },
  };
}

export function toolTold(run: ClaimedRun, called: ToolCalled): Told {
  return {
    ...common(run, called),
    name: `execute_tool ${called.tool}`,
    kind: SpanKind.INTERNAL,
    id: toolSpanId(run.id, run.epoch, called.call, called.attempt),
    attributes: {
      ...ofRun(run),
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': called.tool,
      'gen_ai.tool.call.id': called.call,
      'troupe.step': called.step,
      'troupe.attempt': called.attempt,
    },
  };
}

function common(
  run: ClaimedRun,
  {
    step,
    startedAt,
    finishedAt,
    error,
  }: { step: number; startedAt: number; finishedAt: number; error?: string },
): Pick<Told, 'trace' | 'parent' | 'startedAt' | 'endedAt' | 'error'> {
  const parent = stepSpanId(run.id, run.lives, step);
  return { trace: traceId(run.rootRunId), parent, startedAt, endedAt: finishedAt, error };
}

function ofRun({ id, projectId, door, epoch }: Pick<ClaimedRun, 'id' | 'projectId' | 'door' | 'epoch'>) {
  return { 'troupe.run.id': id, 'troupe.project.id': projectId, 'troupe.door': door, 'troupe.epoch': epoch };
}

/** The run and its steps: the run first. */
export function runTold(run: EndedRun): Told[] {
  const startedAt = run.startedAt.getTime();
  // To the millisecond, while its steps have fractions.
  const endedAt = Math.max(run.endedAt.getTime(), ...run.steps.map((step) => step.endedAt));
  const { network, status } = run;
  const operation = network ? 'invoke_workflow' : 'invoke_agent';
  const name = network?.name ?? run.agentName;
  const trace = traceId(run.rootRunId);
  const failed = status === 'completed' ? null : (run.reason ?? status);
  const linked = run.traceparent === null ? null : contextIn(run.traceparent);
  const told: Told = {
    name: name === null ? operation : `${operation} ${name}`,
    kind: SpanKind.INTERNAL,
    trace,
    id: runSpanId(run.id, run.lives),
    parent: run.parent && runSpanId(run.parent.id, run.parent.lives),
    startedAt,
    endedAt,
    error: failed,
    attributes: {
      ...ofRun(run),
      'gen_ai.operation.name': operation,
      'gen_ai.agent.id': run.agentId,
      'gen_ai.agent.name': run.agentName,
      'gen_ai.conversation.id': run.sessionId ?? run.threadId,
      'gen_ai.usage.input_tokens': run.inputTokens,
      'gen_ai.usage.output_tokens': run.outputTokens,
      'troupe.run.status': status,
      'troupe.network.name': network?.name,
      'troupe.network.version': network?.version,
      'troupe.takeover': run.takeovers > 0 ? run.takeovers : undefined,
    },
    events: takeoversIn(run),
    ...(linked ? { links: [linked] } : {}),
  };
  return [told, ...stepsOf(run, trace, startedAt, endedAt)];
}

/** The workers between two steps tell when the run was taken over, if a step was taken since. */
function takeoversIn({ steps, takeovers }: EndedRun): NonNullable<Told['events']> {
  if (takeovers === 0) return [];
  return steps.flatMap(({ epoch, startedAt }, index) => {
    const before = steps[index - 1]?.epoch ?? 1;
    return epoch > before
      ? [{ name: 'troupe.resumed', at: startedAt, attributes: { 'troupe.epoch': epoch } }]
      : [];
  });
}

function stepsOf(run: EndedRun, trace: string, startedAt: number, endedAt: number): Told[] {
  const common = { kind: SpanKind.INTERNAL, trace, parent: runSpanId(run.id, run.lives) };
  const told = run.steps.map((step): Told => {
    return {
      ...common,
      name: `step ${step.step}`,
      id: stepSpanId(run.id, run.lives, step.step),
      startedAt: step.startedAt,
      endedAt: step.endedAt,
      attributes: {
        ...ofRun({ ...run, epoch: step.epoch }),
        'troupe.step': step.step,
        'troupe.agent.key': step.agentKey,
        'troupe.attempt': step.attempt,
        'gen_ai.usage.input_tokens': step.inputTokens,
        'gen_ai.usage.output_tokens': step.outputTokens,
        'gen_ai.response.finish_reasons': [step.finishReason],
      },
      events: refusalsIn(step),
    };
  });
  if (run.status === 'completed') return told;
  // One that was begun and never answered: what models failed at hangs on it.
  const last = run.steps.at(-1);
  const step = (last?.step ?? 0) + 1;
  told.push({
    ...common,
    name: `step ${step}`,
    id: stepSpanId(run.id, run.lives, step),
    startedAt: Math.min(last?.endedAt ?? startedAt, endedAt),
    endedAt,
    error: run.reason ?? run.status,
    attributes: { ...ofRun(run), 'troupe.step': step },
  });
  return told;
}

/** Decisions that a network did not allow. What was wanted is the model's to say; the code is ours. */
function refusalsIn({
  decision,
  endedAt,
}: Pick<EndedStep, 'decision' | 'endedAt'>): NonNullable<Told['events']> {
  const decisions: Json[] = Array.isArray(decision) ? decision : [];
  return decisions.flatMap((one) => {
    if (one === null || typeof one !== 'object' || Array.isArray(one) || one.status === 'ok') return [];
    // Tasks that were given at once are judged one by one.
    if (Array.isArray(one.tasks)) return refusalsIn({ decision: one.tasks, endedAt });
    const code = typeof one.code === 'string' ? { 'error.type': one.code } : {};
    return [{ name: 'troupe.decision.refused', at: endedAt, attributes: { ...code } }];
  });
}

/** Of a `traceparent` header; null where it is none. */
function contextIn(header: string): SpanContext | null {
  const [, traceId, spanId, flags] =
    /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/.exec(header) ?? [];
  if (!traceId || !spanId || !flags) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
