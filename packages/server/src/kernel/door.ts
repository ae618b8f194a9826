import type {
  AgentSnapshot,
  Json,
  JsonObject,
  ReasoningEffort,
  RunError,
  SnapshotModel,
  SnapshotTool,
  ToolCallStatus,
} from '@troupe/protocol';
import type { NewEvent, NewMessage, RunRow, StoredMessage } from '../store/index.ts';
import type { ModelAnswer, ModelCall, ModelDelta, ModelMessage, ModelTool } from './ports.ts';

/** A run as a door sees it: who, what, and everything said so far. */
export interface RunView {
  run: RunRow;
  /** Who has it: with the run's epoch, the fence of what a door writes on its behalf. */
  worker: string;
  snapshot: AgentSnapshot;
  /** The tail of the thread that `troupe.tail` returns, in order; grows with the run. */
  transcript: readonly StoredMessage[];
  /** The step that is about to be taken. */
  step: number;
  /** Which of the models takes it. */
  model: SnapshotModel;
  /** The step was taken long ago, and somebody wants to see what was shown then: nothing is written. */
  past?: true;
}

export interface Context {
  system: string;
  messages: ModelMessage[];
  /** Default: all tools of the snapshot. */
  tools?: ModelTool[];
  toolChoice?: 'auto' | 'none';
  reasoningEffort?: ReasoningEffort;
  /** What a final answer must look like, for models that can be told. */
  answerSchema?: JsonObject;
  /** The answer is internal: nothing of it is streamed. */
  isInternal?: true;
  /** Of a step that was taken long ago: what may be otherwise than it was then. */
  changed?: string[];
}

/** What a call is about to say in another thread, as far as it is new. */
export interface LivePiece {
  thread: string;
  type: 'message' | 'tool';
  /** The id of the message that will take its place. */
  streamId: string;
  callId: string;
  name: string;
  text: string;
  /** Who speaks. */
  entityId: string | null;
}

/** A call as the door wants it made. */
export interface MeantCall extends ModelCall {
  /** Where others see the call, and what of it; kept with it, and read by nobody in the kernel. */
  shown?: JsonObject;
  /** The call is answered with this instead of being made. */
  refuse?: { code: string; message: string };
}

export interface Meaning {
  /** What is said in the run's thread. */
  messages: Omit<NewMessage, 'id' | 'step'>[];
  /** Default: the answer's calls. */
  calls?: MeantCall[];
  /** With no calls: whether the run ends here. Default: yes. */
  end?: boolean;
  outcome?: Json;
  /** With no calls: the run ends with this error. Unlike `refuse`, the answer counts as a step and what is said is kept. */
  fail?: RunError;
  events?: NewEvent[];
  /** Written only if the run really ends with this answer. */
  endEvents?: NewEvent[];
  /** Other threads that the calls are shown in, or that are told how they end. The commit locks them in order. */
  places?: string[];
  /** What the step keeps of who decided what. `handsOver`: others go on, with the first of their models. */
  step?: { agentKey?: string; decision: Json; handsOver?: true };
  /** The answer is no good: counts as a failed try of the model. `retryable: false`: the next model is asked at once. */
  refuse?: { code: string; message: string; retryable?: boolean };
}

/** A way of working: what the model sees, and what its answer means. The kernel knows no door by name. */
export interface Door {
  name: string;
  /** Event types written when a run starts: the first time, and each time it is taken up again after it had ended. */
  startEvents?: string[];
  /** Event types written when a run fails; they carry the error's code and message. */
  failEvents?: string[];
  /** Event types written when a run is canceled, unless it waited for its turn; they carry the reason. */
  cancelEvents?: string[];
  /** Tools that every run of this door has beside the agent's, asked once for each snapshot; they win over those of the same name. */
  tools?(snapshot: AgentSnapshot): SnapshotTool[];
  /** Where not all steps of a run are taken by the same models: those that take the next one. Default: the snapshot's. */
  models?(view: Pick<RunView, 'run' | 'snapshot' | 'transcript'>): readonly SnapshotModel[];
  /** Steps of the run that do not count towards its limit. Default: none. */
  extraSteps?(view: Pick<RunView, 'run' | 'transcript'>): number;
  /**
   * What of an answer others see elsewhere while it is written. Asked once for each time a model is asked; called with every
   * piece, in which calls have the ids that they will have.
   */
  live?(view: RunView): (delta: ModelDelta) => LivePiece[];
  /** Threads beside the run's own whose readers are told after each of its commits. */
  threads?(view: Pick<RunView, 'run' | 'transcript'>): string[];
  /** Whether the threads that watch the run are told that a call now has this status. */
  tells?(call: { tool: string; status: ToolCallStatus; output: Json }): boolean;
  /** Whether others may be queued behind this run: whoever worked on it then looks for them at once, rather than with the next poll. */
  hasFollowers?(run: Pick<RunRow, 'trigger'>): boolean;
  context(view: RunView): Context | Promise<Context>;
  settle(view: RunView, answer: ModelAnswer): Meaning | Promise<Meaning>;
  /** Called if every model failed to take a step: returns what to commit instead, or null to fail the run. */
  recover?(view: RunView, error: RunError): Meaning | null;
}
