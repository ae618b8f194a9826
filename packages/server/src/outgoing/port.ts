/** A request that leaves the server because somebody outside asked for it. */
export interface OutgoingRequest {
  /** Whose allow-list counts. */
  project: string;
  url: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
  /** From the first look-up to the last byte. */
  timeoutMs?: number;
  /** Of the answer's body, as it is after decompression. */
  maxBytes?: number;
  /** What becomes of a longer body: the request fails, or the rest is left out. */
  overflow?: 'refuse' | 'cut';
  /** How many are followed; every hop is judged like the first. Headers go along to the same origin only. */
  redirects?: number;
}

export interface OutgoingResponse {
  /** The last one, after redirects. */
  url: string;
  status: number;
  headers: Headers;
  body: Uint8Array;
  /** Whether something was left out. */
  cut: boolean;
}

/**
 * The one client for what leaves the server at somebody's request. Throws `TroupeError`: `address_invalid`, `address_forbidden`,
 * `too_many_redirects`, `response_too_large`, `request_timeout`, `connection_failed`.
 */
export interface Outgoing {
  request(request: OutgoingRequest): Promise<OutgoingResponse>;
  /** A `fetch` under the same guard that follows no redirect, for libraries that bring their own requests and read streams. */
  fetchFor(project: string): typeof globalThis.fetch;
  /** What the project may reach was changed here: look again. Others learn of it within seconds. */
  forget?(project: string): void;
}
