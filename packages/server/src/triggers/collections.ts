// The collections that rules can be about: where their documents stand, and what is in them.

/** What is known of a value before there is one. `dyn`: anything. */
export type Type = 'bool' | 'int' | 'double' | 'string' | 'list' | 'map' | 'dyn';

const CHAT = 'users/{userId}/orch-chats/{chatId}';

interface Collection {
  /** Segments in braces are ids. */
  path: string;
  fields: Record<string, Type>;
}

const stamps = { id: 'string', userId: 'string', chatId: 'string', createdAt: 'int' } as const;

export const COLLECTIONS: Record<string, Collection> = {
  messages: {
    path: `${CHAT}/messages`,
    fields: {
      ...stamps,
      sequence: 'int',
      role: 'string',
      content: 'string',
      toolCallId: 'string',
      name: 'string',
      senderId: 'string',
      runId: 'string',
      step: 'int',
      parts: 'list',
      arguments: 'dyn',
      tool: 'dyn',
      error: 'dyn',
      metadata: 'map',
    },
  },
  tasks: {
    path: `${CHAT}/tasks`,
    fields: {
      ...stamps,
      type: 'string',
      name: 'string',
      instruction: 'string',
      args: 'dyn',
      subAgentId: 'string',
      triggerMessageId: 'string',
      status: 'string',
      result: 'string',
      error: 'string',
      code: 'string',
      question: 'string',
      background: 'bool',
      depth: 'int',
      parentTaskId: 'string',
      parentRunId: 'string',
      runId: 'string',
      updatedAt: 'int',
    },
  },
  sub_agents: {
    path: `${CHAT}/sub-agents`,
    fields: {
      ...stamps,
      taskId: 'string',
      agentId: 'string',
      role: 'string',
      status: 'string',
      iterationCount: 'int',
      summary: 'string',
      updatedAt: 'int',
    },
  },
  sub_agent_messages: {
    path: `${CHAT}/sub-agents/{subAgentId}/messages`,
    fields: {
      ...stamps,
      subAgentId: 'string',
      sequence: 'int',
      role: 'string',
      content: 'string',
      toolCallId: 'string',
      toolCalls: 'list',
      name: 'string',
    },
  },
  sub_agent_tool_calls: {
    path: `${CHAT}/sub-agents/{subAgentId}/tool-calls`,
    fields: {
      ...stamps,
      subAgentId: 'string',
      runId: 'string',
      callId: 'string',
      step: 'int',
      toolName: 'string',
      args: 'dyn',
      status: 'string',
      result: 'string',
      error: 'string',
    },
  },
  sessions: {
    path: 'sessions',
    fields: {
      id: 'string',
      userId: 'string',
      agentId: 'string',
      title: 'string',
      modelId: 'string',
      policy: 'string',
      tags: 'list',
      metadata: 'map',
      createdAt: 'int',
      updatedAt: 'int',
    },
  },
  spaces: {
    path: 'spaces',
    fields: {
      id: 'string',
      name: 'string',
      description: 'string',
      policy: 'string',
      chainDepth: 'int',
      agentRuns: 'int',
      metadata: 'map',
      createdAt: 'int',
      updatedAt: 'int',
    },
  },
  memberships: {
    path: 'spaces/{spaceId}/memberships',
    fields: {
      id: 'string',
      spaceId: 'string',
      entityId: 'string',
      type: 'string',
      name: 'string',
      agentId: 'string',
      role: 'string',
      ordering: 'string',
      lastSeenMessageId: 'string',
      lastProcessedMessageId: 'string',
      joinedAt: 'int',
    },
  },
  runs: {
    path: 'runs',
    fields: {
      id: 'string',
      door: 'string',
      agentId: 'string',
      entityId: 'string',
      sessionId: 'string',
      spaceId: 'string',
      activeSpaceId: 'string',
      networkId: 'string',
      taskId: 'string',
      status: 'string',
      step: 'int',
      triggerType: 'string',
      triggerMessageId: 'string',
      chainDepth: 'int',
      parentRunId: 'string',
      absorbedBy: 'string',
      cancelReason: 'string',
      inputTokens: 'int',
      outputTokens: 'int',
      cost: 'dyn',
      error: 'string',
      code: 'string',
      outcome: 'dyn',
      createdAt: 'int',
      startedAt: 'int',
      completedAt: 'int',
      canceledAt: 'int',
    },
  },
};

/** All fields that documents of these collections can have. */
export function fieldsOf(collections: readonly string[]): Record<string, Type> {
  const fields: Record<string, Type> = {};
  for (const collection of collections) {
    for (const [name, type] of Object.entries(COLLECTIONS[collection]!.fields))
      fields[name] = name in fields && fields[name] !== type ? 'dyn' : type;
  }
  return fields;
}
