import type { ListedRun, Run, RunStep, ToolCall } from '@troupe/protocol';
import { argumentsHash } from '../../runs/index.ts';
import type { ListedRunRecord, RunCallRecord, RunRecord, RunStepRecord } from '../../store/index.ts';

const MILLIONTHS = 1_000_000;

export function presentRun({ inputTokens, outputTokens, ...run }: RunRecord): Run {
  return {
    ...run,
    usage: { inputTokens, outputTokens },
    cost: run.cost / MILLIONTHS,
    createdAt: run.createdAt.toISOString(),
    startedAt: run.startedAt?.toISOString() ?? null,
    completedAt: run.completedAt?.toISOString() ?? null,
    canceledAt: run.canceledAt?.toISOString() ?? null,
  };
}

export function presentListedRun({ asked, ...run }: ListedRunRecord): ListedRun {
  return { ...presentRun(run), asked };
}

export function presentStep({ inputTokens, outputTokens, ...step }: RunStepRecord): RunStep {
  return {
    ...step,
    usage: { inputTokens, outputTokens },
    cost: step.cost / MILLIONTHS,
    startedAt: step.startedAt.toISOString(),
    firstTokenAt: step.firstTokenAt?.toISOString() ?? null,
    finishedAt: step.finishedAt.toISOString(),
  };
}

export function presentCall(call: RunCallRecord): ToolCall {
  return {
    ...call,
    argumentsHash: argumentsHash(call.arguments),
    deadline: call.deadline?.toISOString() ?? null,
    createdAt: call.createdAt.toISOString(),
    settledAt: call.settledAt?.toISOString() ?? null,
  };
}
