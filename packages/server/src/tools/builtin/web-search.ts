import type { Json, JsonObject, SnapshotTool } from '@troupe/protocol';
import { TroupeError } from '../../base/index.ts';
import type { ToolExecute } from '../../kernel/ports.ts';
import type { Outgoing, OutgoingResponse } from '../../outgoing/index.ts';
import { type Hidden, hiddenOf } from '../http/index.ts';
import type { SecretValues } from '../ports.ts';

const DEFAULTS = { secretName: 'TAVILY_API_KEY', baseUrl: 'https://api.tavily.com', maxResults: 5 };
const TIMEOUT_MS = 20_000;
const MOST_BYTES = 2 * 1024 * 1024;
const MOST_CONTENT = 4_000;

/** Searches the web, in the words of Tavily's API. */
export function webSearch(
  { config }: SnapshotTool,
  { outgoing, secrets }: { outgoing: Outgoing; secrets: SecretValues },
): ToolExecute {
  const { secretName, baseUrl, maxResults } = { ...DEFAULTS, ...config } as typeof DEFAULTS;
  return async (args, { projectId, signal }) => {
    const key = await secrets.reveal(projectId, secretName);
    if (key === null) {
      throw new TroupeError(
        'secret_not_found',
        `The search needs the secret "${secretName}", which the project does not have.`,
        {
          hint: 'Somebody must set it: PUT /v1/secrets/{name}.',
        },
      );
    }
    const asked = args as JsonObject;
    const response = await outgoing.request({
      project: projectId,
      url: `${baseUrl.replace(/\/+$/, '')}/search`,
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify({ ...asked, max_results: asked.max_results ?? maxResults }),
      signal,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MOST_BYTES,
      redirects: 0,
    });
    // Before anything is cut: half a key is found by nobody.
    const hidden = hiddenOf(new Map([[secretName, key]]));
    const said = bodyOf(response, hidden);
    if (response.status !== 200) throw failureOf(response.status, said);
    const results = isObject(said) ? said.results : undefined;
    if (!Array.isArray(results)) {
      throw new TroupeError(
        'search_bad_response',
        'The search answered with something else than results. Try again later.',
      );
    }
    const shown = results.filter(isObject).map((result) => ({
      title: textIn(result.title),
      url: textIn(result.url),
      content: textIn(result.content).slice(0, MOST_CONTENT).toWellFormed(),
      score: typeof result.score === 'number' ? result.score : null,
      ...(typeof result.published_date === 'string' ? { published_date: result.published_date } : {}),
    }));
    return { query: hidden.json(asked.query ?? null), results: shown };
  };
}

function bodyOf({ body }: OutgoingResponse, hidden: Hidden): Json {
  try {
    return hidden.json(JSON.parse(new TextDecoder().decode(body)));
  } catch {
    return null;
  }
}

function failureOf(status: number, said: Json): TroupeError {
  const detail = isObject(said) ? (isObject(said.detail) ? said.detail.error : said.detail) : null;
  const why = typeof detail === 'string' ? ` It says: ${detail.slice(0, 300).toWellFormed()}` : '';
  if (status === 401 || status === 403) {
    return new TroupeError(
      'search_key_refused',
      `The search does not accept the project's key. Somebody must set another one.${why}`,
    );
  }
  if (status === 429) {
    return new TroupeError(
      'search_rate_limited',
      `The search gets too many requests. Wait before you search again.${why}`,
    );
  }
  if (status === 432 || status === 433) {
    return new TroupeError(
      'search_quota',
      `The search answers no more until its plan is renewed or changed.${why}`,
    );
  }
  if (status >= 500) {
    return new TroupeError('search_unavailable', `The search failed (${status}). Try again later.${why}`);
  }
  return new TroupeError(
    'search_refused',
    `The search refused the request (${status}). Ask in another way.${why}`,
  );
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textIn(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
