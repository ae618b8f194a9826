import type { ReaderHistory, Request } from '../clients/history.ts';
import type { Received } from '../doubles/receiver.ts';
import type { Effect } from '../doubles/tools.ts';

/** A run as the database has it at the end. */
export interface RunFact {
  id: string;
  door: string;
  thread: string;
  status: string;
  /** Whether a person took it up again after it had ended. */
  retried: boolean;
  /** How often another worker took it over. */
  takeovers: number;
  error: string | null;
  /** The outcome as JSON. */
  outcome: string;
  cancelReason: string | null;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
  inputTokens: number;
  outputTokens: number;
  cost: number;
  stepInputTokens: number;
  stepOutputTokens: number;
  stepCost: number;
  /** When it changed after a given moment: times of its steps and its end. */
  moments: number[];
}

export interface CallFact {
  run: string;
  call: string;
  tool: string;
  effect: 'pure' | 'idempotent' | 'once';
  status: string;
  attempt: number;
  /** A person said how a call in doubt ended; it may never have run. */
  byPerson: boolean;
  /** The key that its requests carry. */
  key: string;
}

/** A thing that a request made, found by the label that it carries. */
export interface RowFact {
  made: Request['made'];
  label: string;
  id: string;
}

/** An answer of the model double to a message, found by the label. */
export interface AnswerFact {
  thread: string;
  label: string;
  run: string;
  sequence: number;
}

export interface ThreadFact {
  id: string;
  lastEvent: number;
  /** The types of its events, in order, for threads that had readers. */
  types: string[];
}

export interface CopyFact {
  user: string;
  collection: string;
  /** Documents of the client and of the server, as canonical JSON by id. */
  client: Map<string, string>;
  server: Map<string, string>;
  /** Ids that the tables have for this user; filled in when the evidence is gathered. */
  rows?: string[];
}

/** A row that is not in a final state when everything should be at rest, with what it waits for. */
export interface RestlessFact {
  table: string;
  id: string;
  state: string;
}

/** A batch or a plan, with the runs that it made. */
export interface MakerFact {
  kind: 'batch' | 'plan';
  label: string;
  runs: string[];
}

export interface DeliveryFact {
  id: string;
  trigger: string;
  document: string;
  change: number;
  event: string;
  status: string;
}

/** Everything that the rules look at: plain data, so that a test can make it up. */
export interface Evidence {
  requests: Request[];
  readers: ReaderHistory[];
  threads: Map<string, ThreadFact>;
  runs: Map<string, RunFact>;
  calls: CallFact[];
  effects: Effect[];
  rows: RowFact[];
  answers: AnswerFact[];
  makers: MakerFact[];
  /** Sessions in which a person canceled, interrupted or retried. */
  disturbed: Set<string>;
  titles: Map<string, string[]>;
  received: Received[];
  forged: string[];
  deliveries: DeliveryFact[];
  copies: CopyFact[];
  restless: RestlessFact[];
  /** Usage as the API reports it, and as the runs have it. */
  usage: {
    reported: { inputTokens: number; outputTokens: number };
    runs: { inputTokens: number; outputTokens: number };
  };
  /** Sentences of `violations` of packages/testing. */
  invariants: string[];
}

export interface Violation {
  rule: string;
  /** What it is about: a label, a run, a thread. */
  subject: string;
  message: string;
}

export type Rule = (evidence: Evidence) => Omit<Violation, 'rule'>[];
