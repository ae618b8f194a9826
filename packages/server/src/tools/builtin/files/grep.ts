import { setImmediate as breath } from 'node:timers/promises';
import type { RE2JS } from '@bufbuild/re2';
import type { Json, JsonObject } from '@troupe/protocol';
import { lazy, messageOf, TroupeError, textIn } from '../../../base/index.ts';
import type { ToolContext } from '../../../kernel/ports.ts';
import type { Files } from '../../ports.ts';

const re2 = lazy<typeof import('@bufbuild/re2')>('@bufbuild/re2');

// Patterns come from models: RE2 takes time in proportion to the line times the pattern, whatever it says, so both are bounded
// (10,000 steps a millisecond were measured), and so is all of it. Others get their turn every few milliseconds.
const LONGEST_PATTERN = 1_000;
const MOST_INSTRUCTIONS = 1_000;
const STEPS_PER_LINE = 200_000;
const MOST_MATCHES = 200;
const MOST_BYTES = 16_777_216;
const TIME_MS = 3_000;
const TURN_MS = 10;
const SHOWN = 300;

type Match = { path: string; line: number; text: string };

export async function grep(
  files: Files,
  { pattern, path_pattern }: JsonObject,
  { threadId, signal }: Pick<ToolContext, 'threadId' | 'signal'>,
): Promise<Json> {
  const { expression, instructions } = compile(String(pattern));
  const isMeant = path_pattern === undefined ? () => true : glob(String(path_pattern));
  const longest = Math.floor(STEPS_PER_LINE / instructions);
  const matches: Match[] = [];
  const started = performance.now();
  let turn = started;
  let scanned = 0;
  let cutLines = 0;
  let searched = 0;
  const answer = (truncated: boolean) => ({
    matches,
    files: searched,
    truncated,
    ...(cutLines > 0
      ? { note: `Of ${cutLines} long lines only the first ${longest} characters were searched.` }
      : {}),
  });
  /** Before every file and between lines: whether to go on, and whether it is time for others. */
  const pause = async () => {
    const now = performance.now();
    if (now - started > TIME_MS) throw tooSlow();
    if (now - turn < TURN_MS) return signal?.throwIfAborted();
    await breath();
    signal?.throwIfAborted();
    turn = performance.now();
  };
  for (const { path, size } of await files.list(threadId, '/')) {
    await pause();
    if (!isMeant(path)) continue;
    if (scanned + size > MOST_BYTES) return answer(true);
    scanned += size;
    const file = await files.read(threadId, path);
    const text = file && textIn(file.content);
    if (text == null) continue;
    searched++;
    for (let from = 0, line = 1; from <= text.length; line++) {
      const end = text.indexOf('\n', from);
      const to = end < 0 ? text.length : end;
      if (to - from > longest) cutLines++;
      const part = text.slice(from, Math.min(to, from + longest));
      if (expression.test(part)) {
        matches.push({ path, line, text: part.slice(0, SHOWN) });
        if (matches.length >= MOST_MATCHES) return answer(true);
      }
      from = to + 1;
      if (end < 0) break;
      if (performance.now() - turn >= TURN_MS) await pause();
    }
  }
  return answer(false);
}

function tooSlow(): TroupeError {
  return new TroupeError(
    'grep_too_slow',
    `The search took longer than ${TIME_MS} ms and was stopped. Use a simpler pattern, or name fewer files with path_pattern.`,
  );
}

function compile(pattern: string): { expression: RE2JS; instructions: number } {
  const invalid = (why: string) =>
    new TroupeError('pattern_invalid', `The pattern cannot be used: ${why}. Write it in the syntax of RE2.`);
  if (pattern.length > LONGEST_PATTERN) throw invalid(`it has more than ${LONGEST_PATTERN} characters`);
  let expression: RE2JS;
  try {
    expression = re2().RE2JS.compile(pattern);
  } catch (error) {
    throw invalid(messageOf(error).slice(0, 200));
  }
  const instructions = expression.re2().prog.numInst();
  if (instructions > MOST_INSTRUCTIONS)
    throw invalid('it is too complex; its repetitions count as often as they repeat');
  return { expression, instructions };
}

/** `*` and `?` within a name, `**` across directories; without a slash it is about the name alone. */
function glob(pattern: string): (path: string) => boolean {
  if (pattern.length > LONGEST_PATTERN)
    throw new TroupeError('pattern_invalid', `path_pattern may have ${LONGEST_PATTERN} characters.`);
  const within = pattern.startsWith('/') || !pattern.includes('/') ? pattern : `/${pattern}`;
  const parts = within.match(/\*\*\/?|\*|\?|[^*?]+/g) ?? [];
  const written = parts.map((part) => {
    if (part.startsWith('**')) return '.*';
    return part === '*' ? '[^/]*' : part === '?' ? '[^/]' : re2().RE2JS.quote(part);
  });
  const expression = re2().RE2JS.compile(written.join(''));
  return (path) => expression.testExact(pattern.includes('/') ? path : path.slice(path.lastIndexOf('/') + 1));
}
