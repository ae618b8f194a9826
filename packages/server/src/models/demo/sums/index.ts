/**
 * sums: finds arithmetic in a sentence and works it out, in one pass and without recursion, whatever is written.
 * Imports: the demo's reply and situation (types).
 * Start reading: sums.ts (what is answered), find.ts (what counts as a sum), evaluate.ts (the arithmetic).
 */
export { sums } from './sums.ts';
