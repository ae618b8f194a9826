import type { StoredMessage } from '../../store/index.ts';

/** About 50,000 tokens: what a model is shown of earlier turns, so that turn 5,000 costs what turn 5 costs. */
export const MOST_CHARACTERS = 200_000;

/** The last turns that fit, whole turns only. The turn under way is always whole. */
export function lastTurns(turns: readonly StoredMessage[][], most = MOST_CHARACTERS): StoredMessage[] {
  let left = most;
  let from = turns.length - 1;
  while (from > 0) {
    left -= sizeOf(turns[from - 1]!);
    if (left < 0) break;
    from--;
  }
  return turns.slice(Math.max(from, 0)).flat();
}

export function sizeOf(turn: readonly StoredMessage[]): number {
  return turn.reduce((size, { content }) => size + JSON.stringify(content).length, 0);
}
