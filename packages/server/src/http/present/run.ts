import type { ListedRun, Run, RunStep, ToolCall } from '@troupe/protocol';
import { MILLIONTHS } from '../../base/index.ts';
import { argumentsHash } from '../../runs/index.ts';
import type { ListedRunRecord, RunCallRecord, RunRecord, RunStepRecord } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentRun({ inputTokens, outputTokens, ...run }: RunRecord): Run {
  return { ...isoTimes(run), usage: { inputTokens, outputTokens }, cost: run.cost / MILLIONTHS };
}

export function presentListedRun({ asked, ...run }: ListedRunRecord): ListedRun {
  return { ...presentRun(run), asked };
}

export function presentStep({ inputTokens, outputTokens, ...step }: RunStepRecord): RunStep {
  return { ...isoTimes(step), usage: { inputTokens, outputTokens }, cost: step.cost / MILLIONTHS };
}

export function presentCall(call: RunCallRecord): ToolCall {
  return { ...isoTimes(call), argumentsHash: argumentsHash(call.arguments) };
}
