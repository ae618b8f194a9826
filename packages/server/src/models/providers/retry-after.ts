const LONGEST_MS = 24 * 3_600_000;

/**
 * How long a provider asks to wait, from the headers of its refusal: `retry-after-ms`, `retry-after` (seconds or a
 * date), else the reset of whichever limit is used up. Undefined where it says nothing that can be read.
 */
export function retryAfterMs(headers: Record<string, string> | undefined, now: number): number | undefined {
  if (!headers) return undefined;
  const said =
    milliseconds(headers['retry-after-ms']) ??
    secondsOrDate(headers['retry-after'], now) ??
    usedUp(headers, now);
  return said === undefined ? undefined : Math.min(Math.max(0, Math.ceil(said)), LONGEST_MS);
}

function milliseconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

function secondsOrDate(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const seconds = milliseconds(text);
  return seconds === undefined ? dateFrom(text, now) : seconds * 1000;
}

function dateFrom(text: string, now: number): number | undefined {
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at - now;
}

/** Limits that are not used up have resets as well, and those say nothing about when to come back. */
function usedUp(headers: Record<string, string>, now: number): number | undefined {
  const resets: number[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (!/^(x|anthropic)-ratelimit-/.test(name) || !/\bremaining\b/.test(name) || Number(value) > 0) continue;
    const reset = headers[name.replace('remaining', 'reset')];
    const wait = reset === undefined ? undefined : resetIn(reset.trim(), now);
    if (wait !== undefined) resets.push(wait);
  }
  return resets.length > 0 ? Math.max(...resets) : undefined;
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** As `6m0s` or `20ms` (OpenAI), a date (Anthropic), a time in milliseconds (OpenRouter) or seconds from now. */
function resetIn(text: string, now: number): number | undefined {
  const number = milliseconds(text);
  if (number !== undefined)
    return number > 1e12 ? number - now : number > 1e9 ? number * 1000 - now : number * 1000;
  if (/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) {
    const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g);
    return [...parts].reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit!]!, 0);
  }
  return dateFrom(text, now);
}
