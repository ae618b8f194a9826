import { firstSentence } from '../shared/index.ts';

const LONGEST = 60;

/** The first sentence of a message, cut at a word: what a session is called until somebody names it. */
export function titleFrom(text: string | null): string | null {
  return firstSentence(text ?? '', LONGEST);
}
