/**
 * agents: what people edit. Agents and their versions, the snapshots these are compiled to, capabilities, providers, models.
 * Imports: store, base, protocol.
 * Start reading: compile.ts (what an agent becomes), change.ts (how one is written), current.ts (what a message runs with).
 */
export { archiveAgent, createAgent, getAgent, listAgents, updateAgent } from './agents.ts';
export { agentArchived } from './archived.ts';
export {
  type CapabilityEntry,
  delegationConfig,
  findCapability,
  getCapability,
  listCapabilities,
} from './capabilities/index.ts';
export { compileAgent } from './compile.ts';
export { type Current, pinAgent, previewAgent, snapshotAnyway, snapshotFor } from './current.ts';
export { diff } from './diff.ts';
export { type BroughtModel, bringEnvironmentModels } from './environment.ts';
export { exportAgent, importAgent, readDocument } from './files/index.ts';
export { bringFirstAgents, bringMissingAgents } from './first-agents.ts';
export { createGoal, deleteGoal, listGoals, updateGoal } from './goals.ts';
export {
  createMcpServer,
  deleteMcpServer,
  getMcpServer,
  importFromMcpServer,
  listMcpServers,
  type McpPort,
  testMcpServer,
  updateMcpServer,
} from './mcp/index.ts';
export { deleteMemory, getMemory, listMemories, setMemories, setMemory } from './memories.ts';
export { createModel, deleteModel, getModel, listModels, updateModel } from './models.ts';
export { archiveNetwork } from './networks/archive.ts';
export { compileNetwork } from './networks/compile.ts';
export { exportNetwork } from './networks/file.ts';
export { importNetwork } from './networks/import.ts';
export {
  addNetwork,
  addNetworkAgent,
  applyDefinition,
  changeNetwork,
  changingNetworks,
  checkDefinition,
  copyNetwork,
  createNetwork,
  editNetwork,
  getDefinition,
  getGraph,
  getNetwork,
  listNetworkAgents,
  listNetworks,
  listNetworkTools,
  lockedNetwork,
  networkDefinitionOf,
  presentNetwork,
  removeNetwork,
  removeNetworkAgent,
  setNetworkTools,
  updateNetwork,
  updateNetworkAgent,
} from './networks/index.ts';
export { compileDraft, publishNetwork, validateNetwork } from './networks/publish.ts';
export {
  diffVersionsOfNetwork,
  getVersionOfNetwork,
  listVersionsOfNetwork,
  rollBackNetwork,
} from './networks/versions.ts';
export { timeAfter } from './plan-times.ts';
export { cancelPlan, createPlan, deletePlan, getPlan, listPlans, updatePlan } from './plans.ts';
export { deletePlansOfRun, plansOfRun, setPlansOfRun } from './plans-of-run.ts';
export {
  createProvider,
  deleteProvider,
  getProvider,
  type Keys,
  type LoadedProvider,
  listProviders,
  loadProvider,
  updateProvider,
} from './providers.ts';
export { rememberedPart } from './remembered.ts';
export { isAnsweredByDemo } from './resolve.ts';
export type { Sealer } from './sealer.ts';
export {
  createTool,
  type DeclaredTool,
  deleteTool,
  getTool,
  listTools,
  type RegisteredTool,
  registerCodeTools,
  toolToTest,
  toolToTry,
  updateTool,
} from './tools/index.ts';
export { diffVersions, getVersion, listVersions, rollBack } from './versions.ts';
