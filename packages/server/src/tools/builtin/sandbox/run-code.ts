import { TroupeError } from '../../../base/index.ts';
import type { Files, Provider } from '../../ports.ts';
import { argumentsOf } from '../files/arguments.ts';
import { OwnFiles } from './own-files.ts';
import { type CodeOutcome, runInProcess } from './process.ts';
import { Turns } from './turns.ts';

const TIME_LIMIT_MS = 5_000;
/** Processes of code at once, in one process of ours. The longest wait, start and run together are less than the tool may take. */
const TURNS = { atOnce: 4, perProject: 2, waitMs: 35_000 };

/** run_code: what the code wrote is committed when it has ended well, as one, and by nobody who lost the run. */
export function runCode(files: Files): Provider {
  const turns = new Turns(TURNS);
  return ({ config }) =>
    async (args, context) => {
      const timeLimitMs = Number(config.timeLimitMs ?? TIME_LIMIT_MS);
      const own = new OwnFiles(files, context.threadId);
      const code = String(argumentsOf(args).code);
      const { signal } = context;
      const outcome = await turns.take(context.projectId, signal, () =>
        runInProcess({ code, timeLimitMs, signal, answer: (request) => own.answer(request) }),
      );
      if (!outcome.ok) throw new TroupeError(...failureOf(outcome, timeLimitMs));
      if (own.changes.size > 0) await files.change(context, own.changes);
      return {
        result: outcome.result === null ? null : JSON.parse(outcome.result),
        output: outcome.output,
        ...(outcome.cut ? { outputTruncated: true } : {}),
        ...(own.changes.size > 0 ? { changedFiles: [...own.changes.keys()] } : {}),
      };
    };
}

function failureOf(
  { kind, message, output }: CodeOutcome & { ok: false },
  timeLimitMs: number,
): [code: string, message: string] {
  const [code, sentence] = sentenceOf(kind, message, timeLimitMs);
  const printed = output ? ` Output until then: ${output.slice(-1_500)}` : '';
  return [code, `${ended(sentence)}No file was changed.${printed}`];
}

/** Lines, such as those that say where the code threw, end with a line of their own; a sentence with a full stop. */
function ended(text: string): string {
  if (text.includes('\n')) return `${text}\n`;
  return /[.!?]$/.test(text) ? `${text} ` : `${text}. `;
}

/** Without the places in what stands around the code, which say nothing to whoever wrote it. */
function thrown(message: string): string {
  return message.replace(/^\s+at [^\n]*\bprelude\.js:[^\n]*(\n|$)/gm, '').trim();
}

function sentenceOf(kind: string, message: string, timeLimitMs: number): [string, string] {
  switch (kind) {
    case 'code':
      return ['code_failed', `The code threw ${thrown(message)}`.slice(0, 2_000)];
    case 'time':
      return ['code_too_slow', `The code did not end within ${timeLimitMs} ms and was stopped.`];
    case 'memory':
      return ['code_too_large', 'The code used more memory than it may and was stopped.'];
    case 'stack':
      return ['code_too_deep', 'The code went too deep and was stopped.'];
    case 'pending':
      return ['code_never_ends', 'The code awaits a promise that nothing will settle; there are no timers.'];
    case 'result':
      return ['result_unusable', `The result is no JSON: ${thrown(message)}`.slice(0, 1_000)];
    case 'result_size':
      return ['result_too_large', `The result has ${message} bytes, which is too much. Write it to a file.`];
    case 'requests':
      return ['code_too_slow', 'The code used its files too often and was stopped.'];
    default:
      return ['sandbox_failed', 'The sandbox ended before the code did. Try simpler code.'];
  }
}
