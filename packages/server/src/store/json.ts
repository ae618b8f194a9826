/**
 * JSON text that Postgres accepts as jsonb. It stores neither NUL nor half of a surrogate pair; what a model or a tool
 * sends of that kind becomes U+FFFD, rather than costing the whole commit.
 */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return /\\u(?:0000|d[89a-f])/i.test(text) ? JSON.stringify(clean(value)) : text;
}

function clean(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\u0000', '\ufffd');
  if (Array.isArray(value)) return value.map(clean);
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [clean(key), clean(item)]));
  }
  return value;
}
