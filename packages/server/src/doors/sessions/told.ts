import type { TextContent } from '@troupe/protocol';
import type { ModelMessage } from '../../kernel/index.ts';
import type { StoredMessage } from '../../store/index.ts';

/** Where a message notes the task that it tells of: `troupe.tell_giver` writes it. */
const TASK_KEY = 'task';

export function isTold({ role, metadata }: Pick<StoredMessage, 'role' | 'metadata'>): boolean {
  return role === 'system' && metadata?.[TASK_KEY] !== undefined;
}

/**
 * As the model reads it: what a sub-agent found, or what a page said that it read, must weigh no more than what a user says. Null where the
 * message tells of no task.
 */
export function asTold(message: StoredMessage): ModelMessage[] | null {
  return isTold(message) ? [{ role: 'user', text: (message.content as TextContent).text }] : null;
}
