import type { Provider, ToolParts } from '../ports.ts';
import { currentTime } from './current-time.ts';
import { memoryTools } from './memory.ts';

/** The tools of capabilities, by the name that snapshots give them. */
export function builtinTools({ now = () => new Date(), memory }: Partial<ToolParts>): Map<string, Provider> {
  return new Map<string, Provider>([
    ['current_time', () => currentTime(now)],
    ...(memory ? memoryTools(memory) : []),
  ]);
}
