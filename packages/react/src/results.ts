import type { ActiveAgent, Api, LiveStep, LiveText, OpenRun, PendingCall, SessionCall } from '@troupe/sdk';

/** `offline`: what is shown may be out of date; it is caught up with as soon as the server can be reached. */
export type Connection = 'connecting' | 'live' | 'offline';

/** What is true of everything that is read: whether it is there, and what keeps it from being there. */
export interface Read {
  /** Nothing has been read yet, and it is not known that nothing can be. */
  isLoading: boolean;
  /** Why it cannot be read; null where nothing is wrong. Being offline is no error. */
  error: Error | null;
}

/** Of a message that the server has not confirmed. */
export interface Sending {
  /** `waiting`: the server cannot be reached; it is sent when it can. `failed`: it was refused. */
  state: 'sending' | 'waiting' | 'failed';
  error: Error | null;
  /** Once more, as the same message: never stored twice. */
  resend(): void;
  discard(): void;
}

/** A message of a session; `sending` until the server has it. The id is the same before and after. */
export type SessionMessage = Api.Message & { sending?: Sending };
export type SpaceMessage = Api.SpaceMessage & { sending?: Sending };

type ContentPart = Api.ContentPart;

export interface SendOptions {
  /** What becomes of it where the session is at work. Default: the policy of the session. */
  policy?: Api.BusyPolicy;
  modelId?: string;
  reasoningEffort?: Api.ReasoningEffort;
  metadata?: Record<string, Api.Json>;
}

export interface PostOptions {
  /** Entities that it names, beside those named as @name. */
  mentions?: string[];
  /** False: it is stored, and starts nobody. */
  startsRuns?: boolean;
  metadata?: Record<string, Api.Json>;
}

/** What is said: text, or parts (pictures, and text between them). */
export type Said = string | { text: string; parts?: ContentPart[] } | ContentPart[];

export interface Paged<Item> {
  messages: readonly Item[];
  hasOlder: boolean;
  isLoadingOlder: boolean;
  loadOlder(): Promise<void>;
}

export interface SessionResult extends Read, Paged<SessionMessage> {
  session: Api.Session | null;
  /** What models are writing right now: one for each step that is being written. */
  live: readonly LiveStep[];
  /** Runs that have not ended. */
  runs: readonly OpenRun[];
  /** The one that is at work or waits; null where nothing is going on. */
  run: OpenRun | null;
  /** All calls of the messages that are here, in their order. */
  calls: readonly SessionCall[];
  /** Work that was given from here, newest first. */
  tasks: readonly Api.Task[];
  connection: Connection;
  /** Shows it at once. Resolves with its id when the server has it; rejects where it was refused. */
  send(said: Said, options?: SendOptions): Promise<string>;
  /** Stops whatever the session is doing. */
  stop(): Promise<void>;
  /** Takes the failed run up again. */
  retry(options?: { modelId?: string }): Promise<void>;
}

export interface SpaceResult extends Read, Paged<SpaceMessage> {
  space: Api.Space | null;
  members: readonly Api.Membership[];
  /** What agents are writing, each by the id that its message will have. */
  live: readonly LiveText[];
  activeAgents: readonly ActiveAgent[];
  /** Calls that wait for somebody. */
  calls: readonly PendingCall[];
  tasks: readonly Api.Task[];
  /** Who else is typing. */
  typing: readonly { entityId: string; name: string | null }[];
  /** The entity that one is here: `as`, else that of the provider. */
  entityId: string | null;
  /** How far one has read. */
  lastSeenMessageId: string | null;
  connection: Connection;
  post(said: Said, options?: PostOptions): Promise<string>;
  /** To be called with every key; others are told every few seconds at most. */
  setTyping(isTyping: boolean): void;
  markRead(messageId?: string): Promise<void>;
  /** Older messages, until this one is there. Rejects where the space has no such message. */
  loadUpTo(messageId: string): Promise<void>;
}

export interface RunResult extends Read {
  run: Api.Run | null;
  steps: readonly Api.RunStep[];
  calls: readonly Api.ToolCall[];
  live: readonly LiveStep[];
  connection: Connection;
  cancel(): Promise<void>;
  retry(options?: { modelId?: string }): Promise<void>;
  /** Goes on from a step in a thread of its own; answers with the id of the new run. */
  fork(from: { step: number; edits?: { sequence: number; content: Api.EditedContent }[] }): Promise<string>;
}

/** A list that is kept up to date; `loadMore` for those after the first page. */
export interface ListResult<Item> extends Read {
  items: readonly Item[];
  hasMore: boolean;
  loadMore(): Promise<void>;
  refresh(): Promise<void>;
}

export interface TaskResult extends Read {
  task: Api.Task | null;
  cancel(): Promise<void>;
}

export interface TasksResult extends ListResult<Api.Task> {
  /** Answers the open question of its sub-agent. */
  answer(task: Pick<Api.Task, 'id' | 'questionId'>, answer: string): Promise<void>;
  cancel(taskId: string): Promise<void>;
  /** All that have not ended. */
  cancelAll(): Promise<void>;
}

/** A call of the inbox; `deciding` from the moment that somebody here decided until it leaves the list. */
export type Approval = Api.WaitingCall & {
  deciding?: Api.CallDecision['decision'] | 'answer';
  /** Why what was decided could not be done; the call still waits. */
  failure?: Error;
};

type Meant = Pick<Api.WaitingCall, 'runId' | 'callId'>;

export interface ApprovalsResult extends ListResult<Approval> {
  /** For exactly the arguments of the call as they are shown; `arguments`: to be called with these instead. */
  approve(
    call: Meant & Pick<Api.WaitingCall, 'argumentsHash'>,
    options?: { arguments?: Api.Json },
  ): Promise<void>;
  reject(call: Meant, reason?: string): Promise<void>;
  /** The result of a call that waits for a client or for a person in a space, or the answer to a sub-agent. */
  answer(
    call: Meant & Partial<Pick<Api.WaitingCall, 'taskId' | 'waitsFor'>>,
    output: Api.Json,
  ): Promise<void>;
  /** Of a call whose outcome is in doubt: make it once more; it took effect, and this came of it; it did not. */
  retry(call: Meant): Promise<void>;
  complete(call: Meant, output: Api.Json): Promise<void>;
  fail(call: Meant, reason: string): Promise<void>;
}

export interface ToolResultResult {
  state: 'open' | 'submitting' | 'settled' | 'failed';
  /** Why it could not be submitted; it may be tried again. */
  error: Error | null;
  submit(output: Api.Json): Promise<void>;
  /** The call is answered with an error, which the model is told. */
  fail(message: string, code?: string): Promise<void>;
}

export interface ReadMarkerResult {
  /** Messages of others that one has not seen; null while it is not known. */
  unread: number | null;
  firstUnreadId: string | null;
  lastSeenMessageId: string | null;
  /** Up to this message, else up to the last one. Never goes back. */
  markRead(messageId?: string): Promise<void>;
  /** To be put on the element of a message: it is marked as read when it has been visible. */
  readRef(messageId: string): (element: Element | null) => (() => void) | undefined;
}
