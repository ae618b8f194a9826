import type { AdvanceItem, CallChange } from '../store/index.ts';

/** Says of which calls others see what becomes: whoever stores it then puts the places where they do in order first. */
export function withShown(item: AdvanceItem, shown: ReadonlySet<string>): AdvanceItem {
  if (shown.size === 0) return item;
  const marked = (calls: CallChange[]) =>
    calls.map((call) => (shown.has(call.id) ? { ...call, shown: true as const } : call));
  return {
    ...item,
    ...(item.settled ? { settled: marked(item.settled) } : {}),
    ...(item.begun ? { begun: marked(item.begun) } : {}),
  };
}
