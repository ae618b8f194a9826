import { ROOT_CONTEXT } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';

/**
 * Whether a trace is exported, by its id alone: every process decides the same. Runs are the roots of their traces, so those samplers that
 * go by the parent go by what they do without one.
 */
export function samplerOf(name: string, ratio: number): (trace: string) => boolean {
  const kind = name.replace(/^parentbased_/, '');
  const sampler =
    kind === 'always_off'
      ? new AlwaysOffSampler()
      : kind === 'traceidratio'
        ? new TraceIdRatioBasedSampler(ratio)
        : new AlwaysOnSampler();
  return (trace) => {
    const { decision } = sampler.shouldSample(ROOT_CONTEXT, trace);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  };
}
