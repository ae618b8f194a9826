import type { StoredMessage } from '../../store/index.ts';
import { sizeOf } from '../shared/index.ts';

/** About 50,000 tokens: what a model is shown of earlier turns, so that turn 5,000 costs what turn 5 costs. */
export const MOST_BYTES = 200_000;

/** The last turns that fit, whole turns only. The turn under way is always whole. */
export function lastTurns(turns: readonly StoredMessage[][], most = MOST_BYTES): StoredMessage[] {
  let left = most;
  let from = turns.length - 1;
  while (from > 0) {
    left -= sizeOf(turns[from - 1]!);
    if (left < 0) break;
    from--;
  }
  return turns.slice(Math.max(from, 0)).flat();
}
