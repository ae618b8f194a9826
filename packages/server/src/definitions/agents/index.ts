/**
 * definitions/agents: agents as people edit them, their versions, and the snapshots that they are compiled to.
 * Imports: definitions/capabilities, definitions/models, definitions/tools, store, base, protocol.
 * Start reading: compile.ts (agent to snapshot), change.ts (writing an agent), current-snapshot.ts (the snapshot of a new run).
 */
export { archiveAgent, createAgent, getAgent, listAgents, listCarried, updateAgent } from './agents.ts';
export { agentArchived } from './archived.ts';
export { type Current, pinAgent, previewAgent, snapshotAnyway, snapshotFor } from './current-snapshot.ts';
export { definitionOf } from './definition.ts';
export { exportAgent, importAgent } from './files/files.ts';
export { readDocument } from './files/read.ts';
export { bringFirstAgents, bringMissingAgents } from './first-agents.ts';
export { diffVersions, getVersion, listVersions, rollBack } from './versions.ts';
