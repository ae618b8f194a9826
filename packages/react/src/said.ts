import type { Api } from '@troupe/sdk';
import type { Said } from './results.ts';

/** As the contract has it: a text, and parts where it is more than text. */
export function contentOf(said: Said): { text: string; parts?: Api.ContentPart[] } {
  if (typeof said === 'string') return { text: said };
  if (!Array.isArray(said)) return said;
  const text = said.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  return { text, parts: said };
}
