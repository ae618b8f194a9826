import type { JsonObject, TriggerAction } from '@troupe/protocol';
import { messageOf, TroupeError } from '../base/index.ts';
import { type Hidden, hiddenOf, type Outgoing, type OutgoingResponse } from '../outgoing/index.ts';
import type { ClaimedDelivery } from '../store/index.ts';
import { failed, type Tried } from './outcome.ts';
import { headersFor, keyOf } from './sign.ts';

export interface WebhookParts {
  outgoing: Pick<Outgoing, 'request'>;
  /** Secrets of the project that may leave the server. */
  secrets: { reveal(project: string, name: string): Promise<string | null> };
  /** What requests to this server are signed with, the current one first; none where the server has no key of its own. */
  ownKeys(project: string): Buffer[];
  /** Where this server answers; null in a process that does not serve. */
  origin(): string | null;
}

type Webhook = Extract<TriggerAction, { type: 'webhook' }>;

/** Of an answer, so much is kept for people to see. */
const KEPT_BYTES = 4_096;
/** Others among 4xx say that the request itself is at fault: it stays the same. */
const WORTH_TRYING = new Set([408, 409, 425, 429]);
const HOPELESS = new Set(['address_forbidden', 'address_invalid', 'header_invalid']);
const SECRET = /\{\{\s*secrets\.([A-Za-z0-9_.-]+)\s*\}\}/g;
const SHOWN_HEADERS = ['content-type', 'retry-after', 'location', 'server'];

/** What a receiver is told. The names of the source stand beside those of Standard Webhooks. */
function bodyOf(delivery: ClaimedDelivery, trigger: string): string {
  const { id, project_id, version, event, path, document_id, user_id, before, after, depth, changed_at } =
    delivery;
  const collection = path.slice(0, path.lastIndexOf('/'));
  return JSON.stringify({
    type: `${collection.split('/').at(-1)}.${event}`,
    timestamp: changed_at.toISOString(),
    deliveryId: id,
    triggerId: trigger,
    version,
    projectId: project_id,
    event,
    collection,
    path,
    documentId: document_id,
    userId: user_id,
    before,
    after,
    depth,
    ts: changed_at.getTime(),
  });
}

/** One request, within the time of the rule. A redirect is not followed: whoever may be told is named in the rule. */
export async function sendWebhook(
  parts: WebhookParts,
  delivery: ClaimedDelivery,
  { action, trigger, timeoutMs }: { action: Webhook; trigger: string; timeoutMs: number },
  signal: AbortSignal,
): Promise<Tried> {
  const { project_id: project } = delivery;
  const body = bodyOf(delivery, trigger);
  const revealed = new Map<string, string>();
  let url = action.url;
  const signed = { id: delivery.id, timestamp: Math.floor(Date.now() / 1_000), body };
  const request: JsonObject = {
    method: 'POST',
    url,
    headers: { ...action.headers },
    bytes: Buffer.byteLength(body),
  };
  let headers: Record<string, string>;
  try {
    const keys: Buffer[] = [];
    if (url.startsWith('/')) {
      const origin = parts.origin();
      if (origin === null) return failed('no_address', 'This process has no address of its own.', true);
      url = `${origin}${url}`;
      keys.push(...parts.ownKeys(project));
    }
    for (const name of action.secrets) keys.push(keyOf(await reveal(parts, project, name, revealed)));
    headers = {
      'content-type': 'application/json',
      ...(await withSecrets(parts, project, action.headers, revealed)),
      ...headersFor(keys, signed),
    };
  } catch (error) {
    if (error instanceof TroupeError) return { ...failed(error.code, error.message, true), request };
    throw error;
  }
  request.headers = {
    ...(request.headers as JsonObject),
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestamp),
  };
  const hidden = hiddenOf(revealed);
  try {
    const response = await parts.outgoing.request({
      project,
      url,
      method: 'POST',
      headers,
      body,
      signal,
      timeoutMs,
      maxBytes: KEPT_BYTES,
      overflow: 'cut',
      redirects: 0,
    });
    return { request, ...judged(response), response: shownOf(response, hidden) };
  } catch (error) {
    if (signal.aborted || !(error instanceof TroupeError)) throw error;
    if (error.code === 'too_many_redirects')
      return {
        ...failed('redirected', 'The receiver redirects, and no redirect is followed.', false),
        request,
      };
    return { ...failed(error.code, hidden.text(messageOf(error)), !HOPELESS.has(error.code)), request };
  }
}

function judged({ status, headers }: OutgoingResponse): Tried {
  if (status >= 200 && status < 300) return { ok: true, result: { status } };
  const again = status >= 500 || WORTH_TRYING.has(status);
  const wait = status === 429 || status === 503 ? waitIn(headers.get('retry-after')) : undefined;
  return {
    ...failed('receiver_refused', `The receiver answered ${status}.`, again),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(status === 410 ? { gone: true as const } : {}),
  };
}

/** Seconds, or a date. */
function waitIn(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

async function withSecrets(
  parts: WebhookParts,
  project: string,
  headers: Record<string, string>,
  revealed: Map<string, string>,
): Promise<Record<string, string>> {
  const filled: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    // What says who sent it is ours to say.
    if (lower.startsWith('webhook-') || lower === 'content-type') continue;
    const values = new Map<string, string>();
    for (const [, secret] of value.matchAll(SECRET))
      values.set(secret!, await reveal(parts, project, secret!, revealed));
    // In one go: what a secret holds is neither read as a template nor as a pattern of what replaces it.
    filled[lower] = value.replaceAll(SECRET, (_, secret: string) => values.get(secret)!);
  }
  return filled;
}

async function reveal(
  { secrets }: WebhookParts,
  project: string,
  name: string,
  revealed: Map<string, string>,
): Promise<string> {
  const value = await secrets.reveal(project, name);
  if (value === null) throw new TroupeError('secret_missing', `The project has no secret "${name}".`);
  revealed.set(name, value);
  return value;
}

/** What people see of an answer. A receiver may say back what it was sent. */
function shownOf({ status, headers, body, cut }: OutgoingResponse, hidden: Hidden): JsonObject {
  const text = Buffer.from(body).toString().toWellFormed().replaceAll('\u0000', '\ufffd');
  const shown = SHOWN_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, hidden.text(value).slice(0, 500)]];
  });
  const said = cut ? hidden.cut(text) : hidden.text(text);
  return { status, headers: Object.fromEntries(shown) as JsonObject, body: said, cut };
}
