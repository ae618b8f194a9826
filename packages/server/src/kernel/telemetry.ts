import type { ClaimedRun } from '../store/index.ts';
import type { ModelAnswer } from './ports.ts';

// What the kernel tells of finished things, with their times, to whoever makes spans of them. No content: neither what models were told
// and said, nor arguments, results and messages of errors. Told at once; whoever is told must not throw, nor take long.

interface Took {
  /** Milliseconds since 1970. */
  startedAt: number;
  finishedAt: number;
  /** The code of what went wrong; `given_up` where nobody waits for it any more. */
  error?: string;
}

export interface ModelCalled extends Took {
  /** The kind of provider where that is known. */
  provider: string;
  model: string;
  finishReason?: ModelAnswer['finishReason'];
  usage?: ModelAnswer['usage'];
}

export interface ToolCalled extends Took {
  step: number;
  call: string;
  tool: string;
  attempt: number;
}

export interface Telemetry {
  /** `thought`: greater each time that this worker asks a model for the run since it took it. */
  modelCalled(
    run: ClaimedRun,
    called: ModelCalled & { step: number; attempt: number; thought: number },
  ): void;
  toolCalled(run: ClaimedRun, called: ToolCalled): void;
  /** These have ended, and nobody else is told. */
  ended(runs: readonly string[]): void;
}
