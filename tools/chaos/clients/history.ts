/** The doors and other ways in that load is put on. */
export const DOORS = [
  'sessions',
  'spaces',
  'networks',
  'batches',
  'tasks',
  'plans',
  'services',
  'sync',
] as const;
export type Door = (typeof DOORS)[number];

/** What a request makes, and so where the checker looks for it. */
export type Made =
  | 'session'
  | 'message'
  | 'space'
  | 'space_message'
  | 'fork'
  | 'invocation'
  | 'batch'
  | 'task'
  | 'plan'
  | 'service_run';

/** One request of a client, with every answer that it got. */
export interface Request {
  door: Door;
  made: Made;
  /** Unique; the thing that the request makes carries it. */
  label: string;
  key: string;
  /** The ids that successful answers named: one, however often the request was sent. */
  ids: string[];
  /** Null until there is an answer that settles it. */
  outcome: 'accepted' | 'refused' | null;
  code: string | null;
  /** How often it was sent by the client's own loop; the SDK's retries are not counted. */
  tries: number;
  /** How its tries failed, and after how long. */
  failures: string[];
  sentAt: number;
  settledAt: number | null;
  /** Where a message was posted. */
  thread?: string;
  /** The runs that the answer said will answer. */
  runs?: string[];
  policy?: string;
  /** How many runs it stands for: the rows of a batch. */
  size?: number;
}

/** What readers of an event stream got, in the order in which it came. */
export interface ReaderHistory {
  thread: string;
  connections: number;
  events: { sequence: number; type: string }[];
}

/** Everything that the clients of a run did and saw. */
export class History {
  readonly requests: Request[] = [];
  readonly readers: ReaderHistory[] = [];
  /** Titles that were given to a session, in order, each accepted. */
  readonly titles = new Map<string, string[]>();
  /** Documents of sync copies: user, collection, then id. */
  readonly copies: { user: string; collection: string; documents: Map<string, unknown> }[] = [];
  /** Runs that a person canceled or asked to be retried, and sessions in which that was done. */
  readonly disturbed = new Set<string>();
}
