/**
 * definitions/networks: networks as people edit them, how they are validated, compiled and published, and their versions.
 * Imports: definitions/agents, definitions/capabilities, definitions/models, definitions/tools, store, base, protocol.
 * Start reading: definition.ts (a network as one document), change.ts (an edit), compile.ts and publish.ts (a version).
 */
export { archiveNetwork } from './archive.ts';
export { exportNetwork } from './file.ts';
export { importNetwork } from './import.ts';
export {
  applyDefinition,
  copyNetwork,
  createNetwork,
  getDefinition,
  getGraph,
  getNetwork,
  listNetworks,
  removeNetwork,
  updateNetwork,
} from './networks.ts';
export {
  addNetworkAgent,
  getNetworkAgent,
  listNetworkAgents,
  listNetworkTools,
  removeNetworkAgent,
  setNetworkTools,
  updateNetworkAgent,
} from './parts.ts';
export { compileDraft, publishNetwork, validateNetwork } from './publish.ts';
export {
  diffVersionsOfNetwork,
  getVersionOfNetwork,
  listVersionsOfNetwork,
  rollBackNetwork,
} from './versions.ts';
