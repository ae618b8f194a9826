import type {
  CancelReason,
  Json,
  JsonObject,
  RunError,
  SnapshotLimits,
  ToolEffect,
  WaitsFor,
} from '@troupe/protocol';
import type { CallError, CommitItem, NewEvent, NewMessage, StepRow, StoredCall } from '../store/index.ts';
import type { KeptReasoning } from './reasoning.ts';

//                  claimed
//                     │
//        ┌─ recover ──┴──────────┐
//        ▼                       ▼
//   committing ──────────►  thinking ──answered──► committing ──go──► acting ─┐
//        ▲                       ▲                     │ │                    │ toolFinished
//        │                       └──── all settled ────┼─┼────────────────────┘
//        └── results ────────────────────────────────  │ └─parked / released──► gone
//                                                      └──ended───────────────► gone
//
// One commit of a run is under way at any time. Whatever happens meanwhile is kept and goes into the next one.

/** What stays the same while a worker holds the run. */
export interface RunFacts {
  limits: SnapshotLimits;
  models: number;
  inDoubt: 'tell' | 'wait';
  /** What the door tells of a failure, besides the kernel's own event. */
  failEvents?: readonly string[];
  /** The same of a run that is canceled. */
  cancelEvents?: readonly string[];
}

export interface Executing {
  id: string;
  attempt: number;
}

export interface FinishedCall {
  id: string;
  status: 'completed' | 'failed';
  output?: Json;
  error?: CallError;
}

export interface RunState {
  facts: RunFacts;
  phase: 'thinking' | 'acting' | 'committing' | 'gone';
  step: number;
  attempt: number;
  modelIndex: number;
  toolCalls: number;
  tokens: number;
  /** Calls that this worker executes, begun and not finished. */
  executing: string[];
  /** Finished, result not yet committed. */
  finished: FinishedCall[];
  /** Calls that wait for somebody outside, as far as this worker knows. */
  outside: number;
  /** What the commit under way will let this worker execute. */
  starting: Executing[];
  /** Set once the process wants to stop: commit, then let go instead of going on. */
  draining: boolean;
  /** Set once the process cannot wait any longer: what was under way is given up, the run is let go with the next commit. */
  lettingGo: boolean;
  /** Set once the run must end here whatever else happens. */
  ending: { target: 'failed' | 'canceled'; error?: RunError; reason?: CancelReason } | null;
}

/** A call of an answer after the snapshot's tools, the schema and the limits were applied to it. */
export interface ResolvedCall {
  id: string;
  tool: string;
  args: Json;
  effect: ToolEffect;
  /** Set where somebody outside settles it. */
  waitsFor?: WaitsFor;
  deadlineMs?: number;
  /** Set where the call cannot be made; the model is told. */
  error?: CallError;
  /** Where others see it. */
  shown?: JsonObject;
}

/** What an answer means, as the door sees it. */
export interface Settlement {
  messages: Omit<NewMessage, 'id'>[];
  events: NewEvent[];
  calls: ResolvedCall[];
  /** Kept with the first call, for the model that takes the next step. */
  reasoning?: KeptReasoning;
  /** The last message that steers the run which the model had read. Absent: there is none. */
  heard?: number;
  /** With no calls: whether the run is over. */
  end: boolean;
  /** With no calls: why the run fails here. */
  fail?: RunError;
  outcome: Json;
  endEvents: NewEvent[];
  /** The next step is taken by other models, from the first of them on. */
  handsOver?: true;
  /** Other threads that show one of the calls. */
  places?: string[];
}

/** A commit before the loop adds the fence and the ids of messages. */
export interface Commit
  extends Omit<
    CommitItem,
    'run' | 'worker' | 'epoch' | 'version' | 'thread' | 'known' | 'steers' | 'messages'
  > {
  /** Name of the boundary, for those who watch it. */
  name: CommitName;
  messages?: Omit<NewMessage, 'id'>[];
}

export type CommitName =
  | 'answer'
  | 'result'
  | 'recover'
  | 'park'
  | 'retry'
  | 'fallback'
  | 'release'
  | 'finish';

export type RunInput =
  | {
      type: 'claimed';
      calls: StoredCall[];
      epoch: number;
      openCalls: number;
      takeovers: number;
      remainingMs: number;
    }
  | { type: 'answered'; settlement: Settlement; stepRow: StepRow }
  /** `models`: how many there are for this step, where that is not the same for all. */
  | {
      type: 'model_failed';
      error: RunError & { retryable: boolean };
      retryAfterMs: number;
      models?: number;
      /** Committed instead of failing the run, once no model is left. */
      instead?: { settlement: Settlement; stepRow: StepRow };
    }
  | {
      type: 'budget_denied';
      budget: string;
      policy: 'stop' | 'fallback' | 'wait';
      amount?: number;
      models?: number;
    }
  | { type: 'tool_finished'; call: FinishedCall }
  /** Somebody else will settle the call; the ledger says so already. */
  | { type: 'tool_handed_over'; id: string }
  | {
      type: 'committed';
      mode: 'go' | 'parked' | 'ended' | 'released';
      /** Absent where it cannot have changed. */
      openCalls: number | undefined;
      /** Calls that somebody let through; null where the commit did not ask for them. */
      ready: StoredCall[] | null;
    }
  /** The database will not take the commit, however often it is sent. */
  | { type: 'commit_failed'; error: RunError }
  | { type: 'lost' }
  /** Finish what is under way, begin nothing new. */
  | { type: 'drain' }
  /** Finish nothing more. */
  | { type: 'let_go' }
  | { type: 'wall_time_over' };

export type RunEffect =
  | { type: 'think'; step: number; modelIndex: number; attempt: number }
  | { type: 'execute'; call: Executing }
  | { type: 'commit'; commit: Commit }
  /** Stop the model call and the tools of this run. */
  | { type: 'abort'; reason: string }
  /** This worker is done with the run. */
  | { type: 'gone'; how: 'ended' | 'parked' | 'released' | 'lost' };

export type Decision = [RunState, RunEffect[]];
