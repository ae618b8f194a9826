import type { ToolExecute } from '../../kernel/ports.ts';
import { currentTime } from './current-time.ts';

/** By the name that snapshots give them. */
export function builtinTools({ now }: { now(): Date }): Map<string, ToolExecute> {
  return new Map([['current_time', currentTime(now)]]);
}
