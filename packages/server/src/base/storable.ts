import { Refusal } from './errors.ts';

const DEEPEST = 100;
/** Of a name that the caller chose, this much is said back. */
const TOLD = 200;

/**
 * Postgres stores neither NUL nor half of a surrogate pair, JSON goes only to a certain depth, and `__proto__` gets lost where
 * objects are copied. Said to the caller before anything is written, rather than changed behind their back: what is read again
 * must be what was sent.
 */
export function checkStorable(value: unknown): void {
  const problem = problemIn(value, '', 0);
  if (!problem) return;
  const issue = { ...problem, path: problem.path.slice(0, TOLD).toWellFormed() };
  const where = issue.path ? `"${issue.path}" ` : 'it ';
  throw new Refusal('invalid', 'invalid_request', `The request is not valid: ${where}${issue.message}.`, {
    issues: [issue],
  });
}

function problemIn(value: unknown, path: string, depth: number): { path: string; message: string } | null {
  if (typeof value === 'string') {
    return value.isWellFormed() && !value.includes('\0')
      ? null
      : { path, message: 'has a character that cannot be stored (NUL, or half of a surrogate pair)' };
  }
  if (value === null || typeof value !== 'object') return null;
  if (depth >= DEEPEST) return { path: '', message: `is nested deeper than ${DEEPEST} levels` };
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') return { path, message: 'has a field "__proto__", which is not taken' };
    const below = path ? `${path}.${key}` : key;
    const problem = problemIn(key, path, depth) ?? problemIn(item, below, depth + 1);
    if (problem) return problem;
  }
  return null;
}
