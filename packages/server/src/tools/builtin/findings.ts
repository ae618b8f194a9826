import type { JsonObject } from '@troupe/protocol';
import { TroupeError } from '../../base/index.ts';
import type { ToolExecute } from '../../kernel/ports.ts';
import type { Findings } from '../ports.ts';

/** Notes what research found. Noted twice by the same call, it is there once. */
export function noteFinding(findings: Findings): ToolExecute {
  return async (args, context) => {
    const {
      question = '',
      claim,
      source = '',
      quote = '',
      confidence = 'medium',
    } = args as Record<string, string>;
    if (source !== '' && !/^https?:$/.test(URL.canParse(source) ? new URL(source).protocol : '')) {
      throw new TroupeError(
        'source_invalid',
        'The source must be the whole address of a page, such as https://example.com/page.',
      );
    }
    const count = await findings.note(context, { question, claim: claim!, source, quote, confidence });
    return { noted: true, findings: count };
  };
}

export function listFindings(findings: Findings): ToolExecute {
  return async (_args, { projectId, threadId }) => {
    const all = await findings.list(projectId, threadId);
    return {
      findings: all.map((finding, index) =>
        Object.fromEntries(
          Object.entries({ number: index + 1, ...finding }).filter(([, value]) => value !== ''),
        ),
      ) as JsonObject[],
    };
  };
}
