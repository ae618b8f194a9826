import type { JsonObject } from '@troupe/protocol';

interface Said {
  runId: string | null;
  metadata: JsonObject | null;
}

/**
 * Why an agent said something is the agent's own and its operator's: it names hidden tools with their arguments, and words of other
 * spaces. Whoever else reads the message is told what this space knows anyway. What people wrote into their metadata is theirs.
 */
export function toldToOthers<Message extends Said>(message: Message): Message {
  const { runContext, ...rest } = message.metadata ?? {};
  if (message.runId === null || !isObject(runContext)) return message;
  const { runId, isCrossSpace } = runContext;
  const cause = isObject(runContext.trigger) ? runContext.trigger : {};
  const trigger = isCrossSpace === false ? cause : { type: cause.type ?? null };
  return {
    ...message,
    metadata: {
      ...rest,
      runContext: { runId: runId ?? null, trigger, isCrossSpace: isCrossSpace ?? null },
    },
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
