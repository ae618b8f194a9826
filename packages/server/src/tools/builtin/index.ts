import type { Provider, ToolParts } from '../ports.ts';
import { currentTime } from './current-time.ts';

/** The tools of capabilities, by the name that snapshots give them. */
export function builtinTools({ now = () => new Date() }: Partial<ToolParts>): Map<string, Provider> {
  return new Map<string, Provider>([['current_time', () => currentTime(now)]]);
}
