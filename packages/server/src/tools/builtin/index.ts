import type { ToolExecute } from '../../kernel/ports.ts';
import type { ToolParts } from '../ports.ts';
import { currentTime } from './current-time.ts';

/** The tools of capabilities, by the name that snapshots give them. */
export function builtinTools({ now = () => new Date() }: Partial<ToolParts>): Map<string, ToolExecute> {
  return new Map([['current_time', currentTime(now)]]);
}
