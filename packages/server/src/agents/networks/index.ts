export { addNetwork, changeNetwork, changingNetworks, editNetwork, lockedNetwork } from './change.ts';
export { checkDefinition } from './check.ts';
export { definitionOf as networkDefinitionOf } from './definition.ts';
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
  listNetworkAgents,
  listNetworkTools,
  removeNetworkAgent,
  setNetworkTools,
  updateNetworkAgent,
} from './parts.ts';
export { presentNetwork } from './present.ts';
