/** Where things have their pages. Plain texts, since the pages of a noun are not known to those of another. */
export const sessionAddress = (agentId: string, sessionId: string): string =>
  `/sessions/${agentId}/${sessionId}`;
export const spaceAddress = (spaceId: string): string => `/spaces/${spaceId}`;
export const runAddress = (runId: string): string => `/runs/${runId}`;
export const taskAddress = (taskId: string): string => `/tasks/${taskId}`;
export const agentAddress = (agentId: string): string => `/agents/${agentId}`;
export const toolAddress = (toolId: string): string => `/tools/${toolId}`;
export const triggerAddress = (name: string): string => `/triggers/${encodeURIComponent(name)}`;
export const networkAddress = (networkId: string): string => `/networks/${networkId}`;
