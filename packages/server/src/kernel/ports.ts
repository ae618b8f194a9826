import type {
  ContentPart,
  Json,
  JsonObject,
  ReasoningEffort,
  SnapshotModel,
  SnapshotTool,
  ToolTrialRequest,
  Usage,
} from '@troupe/protocol';

// ---- models: one call, one answer. The loop is ours; a model never runs tools itself.

export interface ModelCall {
  /** Unique within the run; made by the model or, where it gives none, by the adapter. */
  id: string;
  name: string;
  arguments: Json;
  /** The raw text where the model's arguments were not JSON; `arguments` is then null. */
  invalid?: string;
}

export type ModelMessage =
  | {
      role: 'user';
      text: string;
      name?: string /** All that the model sees, the text included. */;
      parts?: ContentPart[];
    }
  | { role: 'system'; text: string; name?: string }
  | {
      role: 'assistant';
      text: string;
      calls: ModelCall[] /** What the same model gave as its answer's. */;
      reasoningParts?: Json;
    }
  | {
      role: 'tool';
      callId: string;
      name: string;
      output: Json;
      isError: boolean;
      /** Images of the result, for models that accept them. */
      parts?: ContentPart[];
    };

export interface ModelTool {
  name: string;
  description: string;
  inputSchema: JsonObject;
}

export interface ModelRequest {
  model: string;
  system: string;
  messages: ModelMessage[];
  tools: ModelTool[];
  /** `none` forces an answer in text. */
  toolChoice: 'auto' | 'none';
  maxOutputTokens: number;
  /** Whether the model accepts images. Absent: the default of its provider kind. */
  imageInput?: boolean;
  /** Absent: what the provider takes for the model. */
  reasoningEffort?: ReasoningEffort;
  /** The JSON Schema of a final answer; absent: free text. Whoever asked checks it. */
  answerSchema?: JsonObject;
  /** Stable for one step of one run, also across retries and takeovers. */
  requestKey: string;
  /** Who is calling; for logs and for tests that script by run. */
  runId: string;
  step: number;
}

export interface ModelAnswer {
  text: string;
  calls: ModelCall[];
  finishReason: 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'other';
  usage: ModelUsage;
  /** For people; shown while it is written, and not kept. */
  reasoning?: string;
  /**
   * What the model wants back with the results of its calls, in a form that only it reads: signed or encrypted thoughts.
   * Kept with the calls; given to the same model in the same run and to nobody else.
   */
  reasoningParts?: Json;
}

/** Cached tokens are among the input tokens; absent where there are none. */
export interface ModelUsage extends Usage {
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
}

export type ModelDelta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool_input'; callId: string; name: string; text: string };

export interface ModelIo {
  signal: AbortSignal;
  /** Called for every piece as it arrives; also counts as a sign of life. */
  onDelta(delta: ModelDelta): void;
}

/**
 * Throws `RetryableError` where another try may help (it may carry `retryAfterMs`), `TroupeError` where it cannot.
 * Anything else that is thrown counts as retryable, with the code `model_error`.
 */
export interface Model {
  /** The kind of provider, for counting: one word of a few. Without it, the name that the snapshot gives. May be known only once it was called. */
  kind?: string;
  generate(request: ModelRequest, io: ModelIo): Promise<ModelAnswer>;
  /** The most tokens this request can use as input; without it, one token per byte is assumed. */
  maxInputTokens?(request: ModelRequest): number;
}

export interface Models {
  /** Throws `TroupeError('unknown_model', …)`. */
  resolve(model: SnapshotModel): Model;
}

// ---- tools

export interface ToolContext {
  projectId: string;
  runId: string;
  threadId: string;
  agentId: string | null;
  entityId: string | null;
  /** The fence of the run that calls; for tools that write to the database themselves. */
  epoch: number;
  worker: string;
  step: number;
  /** The key of the effect: the same however often the call is tried. */
  callId: string;
  /** 1 for the first try. */
  attempt: number;
  signal: AbortSignal;
  /** Values among the arguments that nobody may read, with their names. Whoever shortens an answer hides them first: half of one is not found. */
  hides?: readonly (readonly [name: string, value: string])[];
  /** Where somebody tries a tool alone: told what is sent, without secrets. */
  onRequest?(request: ToolTrialRequest): void;
}

const handedOver = Symbol('handed over');
export interface HandedOver {
  readonly [handedOver]: true;
}

/**
 * What a tool returns whose call somebody else will settle. By then the tool has made the ledger say so, in a transaction of
 * its own: the call is `requested` and waits for somebody until a deadline, and the run counts one open call more.
 */
export const HANDED_OVER: HandedOver = { [handedOver]: true };

export type ToolAnswer = Json | HandedOver;

/** Returns the output, or throws: the message of what is thrown is told to the model. */
export type ToolExecute = (args: Json, context: ToolContext) => Promise<ToolAnswer> | ToolAnswer;

export interface Tools {
  /** The functions that this process has, by name: its worker takes no run that needs another. */
  code?: readonly string[];
  /** Undefined where this process cannot execute it. */
  resolve(tool: SnapshotTool): ToolExecute | undefined;
  /**
   * Looks whether calls would reach what executes them, without one; answers with a sentence that says what was looked at; null where
   * there is nothing to look at. Throws what is wrong.
   */
  check?(tool: SnapshotTool, context: Pick<ToolContext, 'projectId' | 'signal'>): Promise<string | null>;
}
