/**
 * store: the database. Tables in migrations/*.sql, functions in functions/<area>/<name>.sql, every query in queries/<noun>.ts.
 * Imports: base, protocol.
 * Start reading: migrations/0040_baseline.sql, then functions/kernel/commit.sql (the hot path), then queries/commit.ts.
 */
export { Database, type Rows } from './database.ts';
export { type EmbeddedPostgres, findBinaries, startEmbedded } from './embedded/index.ts';
export {
  isConnectionError,
  isContention,
  isDiskFull,
  isNotOpen,
  isPointedAt,
  isPoolClosed,
  isTaken,
} from './errors.ts';
export { toJsonText } from './json.ts';
export { migrate, withMigrationLock } from './migrate.ts';
export { type AgentVersionRow, listAgentVersions, readAgentVersion } from './queries/agent-versions.ts';
export {
  type AgentCapabilityRow,
  type AgentRow,
  hasAgentNamed,
  type InlineToolRow,
  insertAgent,
  keepAgents,
  listAgentCapabilities,
  listAgents,
  lockAgent,
  lockAgentNamed,
  readAgent,
  setAgentStatus,
  updateAgent,
  usesOfAgent,
} from './queries/agents.ts';
export { type AuditRow, addAuditEntry, listAuditEntries } from './queries/audit.ts';
export { type Author, noteChange } from './queries/author.ts';
export {
  armBatch,
  type BatchItemRecord,
  type BatchRecord,
  type BatchStart,
  type BatchToAdvance,
  beginBatchItems,
  cancelBatch,
  deleteBatch,
  hasBatch,
  insertBatch,
  isCanceling,
  listBatches,
  listBatchItems,
  lockBatch,
  type NewBatchRecord,
  type NewBatchRow,
  type NewSealedRows,
  type PendingItem,
  pendingBatchItems,
  readBatch,
  rearmBatches,
  resumeBatch,
  runsToCancel,
  sealedOfBatch,
} from './queries/batches.ts';
export {
  addRunBudgets,
  type BudgetReport,
  type BudgetTarget,
  budgetsFor,
  budgetTargets,
  budgetTargetsSince,
  deleteBudget,
  hasScope,
  type Lease,
  leaseBudget,
  leasedBy,
  reportBudgets,
  setBudget,
  wakeForBudget,
  wakeForDeletedBudgets,
} from './queries/budgets.ts';
export {
  type BegunChild,
  beginChild,
  joinChild,
  type NewChild,
  openJoins,
  type TaskParent,
  type ToldAgent,
  taskParent,
  toldAgent,
} from './queries/children.ts';
export { type ClaimedRun, claim, type Resync, type RunRow, resync } from './queries/claim.ts';
export { type ClientRow, deleteClient, listClients, registerClient, touchClient } from './queries/clients.ts';
export { codeToolsOfWorkers, expireUnclaimed } from './queries/code-tools.ts';
export {
  type CallChange,
  type CallError,
  type CommitItem,
  type Committed,
  commit,
  type NewCall,
  type NewEvent,
  type NewMessage,
  type StepRow,
  type StoredCall,
  type StoredMessage,
} from './queries/commit.ts';
export { emptyDeletedThreads } from './queries/delete-threads.ts';
export {
  type AttemptOutcome,
  type Chat,
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveriesAsked,
  type DeliveryRow,
  type DeliveryWhole,
  doneFor,
  endAttempt,
  eraseLateDeliveries,
  findAgentNamed,
  findChat,
  type Judged,
  judgeChanges,
  listDeliveries,
  type NewDelivery,
  openChanges,
  purgeDeliveries,
  readDelivery,
  redeliver,
  triggerVersions,
  triggerWork,
} from './queries/deliveries.ts';
export { saveDoors } from './queries/doors.ts';
export {
  addPerson,
  deletePerson,
  type EntityRow,
  ensureEntity,
  findEntity,
  listEntities,
  updateEntity,
} from './queries/entities.ts';
export { changeEnvelopes } from './queries/envelopes.ts';
export {
  blankMessages,
  blankSpace,
  type ErasureRow,
  eraseThreads,
  findErasure,
  finishErasure,
  liveRunsOfPerson,
  requestErasure,
  spacesOfMember,
  spacesSpokenIn,
  threadsOfPerson,
} from './queries/erasures.ts';
export {
  eventsAfter,
  eventsBefore,
  findRunLog,
  findSessionLog,
  findSpaceLog,
  lastEvents,
  type StoredEvent,
  type ThreadLog,
} from './queries/events.ts';
export {
  type ExportTable,
  exportRows,
  leftOut,
  PERSON_TABLES,
  PROJECT_TABLES,
  SESSION_TABLES,
  schemaVersion,
} from './queries/exports.ts';
export {
  changeFiles,
  deleteFiles,
  type FileRow,
  fileTotals,
  listFiles,
  readFile,
  refusalOf,
  writeFile,
} from './queries/files.ts';
export { addFinding, listFindings } from './queries/findings.ts';
export {
  deleteGoals,
  type GoalRow,
  type GoalWrite,
  goalsOfRun,
  listGoals,
  readGoal,
  setGoals,
} from './queries/goals.ts';
export {
  answerIdempotencyKey,
  claimIdempotencyKey,
  type Effect,
  freeIdempotencyKey,
  holdIdempotencyKey,
  type KeyedRequest,
  leaveIdempotencyKey,
  purgeIdempotencyKeys,
  recordEffect,
} from './queries/idempotency.ts';
export {
  beginImport,
  completeRows,
  endImport,
  findImport,
  importRows,
  isImported,
  isLate,
} from './queries/imports.ts';
export {
  agentsOfSpace,
  contextOfRun,
  enterSpace,
  type FoundMessage,
  findSpaceMessage,
  findSpeaker,
  foldedFor,
  foldedInto,
  keepPrompt,
  knownEntities,
  listSpaceMessages,
  postToSpace,
  type RunContext,
  type RunSeen,
  reachSpace,
  readSpace,
  runsOfAgent,
  type SayingCall,
  type SayingRun,
  type SpaceMessageRange,
  type SpaceMessageRow,
  type SpacePost,
  type SpacePosted,
  type StartingAgent,
  sayingRun,
  spaceOfCall,
  spacesOfRun,
  stopRun,
} from './queries/in-spaces.ts';
export {
  type CallSettlement,
  type CallToSettle,
  callsHiddenFrom,
  findCalls,
  listWaiting,
  type RefusedSettlement,
  type SettledAll,
  settleAll,
  type WaitingFilter,
  type WaitingRow,
} from './queries/inbox.ts';
export { addJob, holdJobLocks, releaseJobsOf, releaseJobsOfTheGone } from './queries/jobs.ts';
export {
  addKey,
  anyKey,
  type FoundKey,
  findKey,
  type KeyRow,
  listKeys,
  type NewKey,
  replaceKeySecret,
  revokeKey,
  revokeOtherKeys,
  touchKey,
} from './queries/keys.ts';
export { type Load, readLoad } from './queries/load.ts';
export {
  deleteMcpServer,
  insertMcpServer,
  listMcpServers,
  lockToolsOfMcpServer,
  type McpServerRow,
  readMcpServer,
  updateMcpServer,
} from './queries/mcp-servers.ts';
export {
  addMember,
  findMember,
  listMembers,
  type MembershipRow,
  markRead,
  removeMember,
} from './queries/memberships.ts';
export {
  deleteMemories,
  findKept,
  type Kept,
  listMemories,
  type MemoryRow,
  memoriesOfRun,
  readMemory,
  rememberedByRun,
  setMemories,
} from './queries/memories.ts';
export {
  findMessage,
  HEARD_KEY,
  lastMessageSequence,
  listMessages,
  type MessageRange,
  type MessageRow,
  messagesAt,
  REASONING_KEY,
} from './queries/messages.ts';
export {
  deleteModel,
  insertModel,
  keepModels,
  listModels,
  lockDefault,
  lockModel,
  type ModelRow,
  type ModelWrite,
  markDefault,
  type ProjectModels,
  readModel,
  type Standing,
  standingOf,
  type UsableModelRow,
  updateModel,
  usableModels,
  usesOfModel,
  usesOfProvider,
} from './queries/models.ts';
export {
  agentsCalled,
  modelsNamed,
  type NamedModel,
  namesOfAgents,
  namesOfModels,
} from './queries/network-names.ts';
export {
  findNetworkRun,
  findNetworkToRun,
  listNetworkRuns,
  type NetworkRunRecord,
  type NetworkToRun,
  sealedOfRun,
  secretsNotSet,
  systemParamNames,
} from './queries/network-runs.ts';
export {
  agentsWithIds,
  insertNetworkVersion,
  type LenderRow,
  lendersOf,
  listNetworkVersions,
  modelsCalled,
  type NetworkVersionRow,
  readNetworkVersion,
  readWholeNetworkVersion,
  secretsNamed,
  setCurrentNetworkVersion,
  setNetworkStatus,
  type WholeNetworkVersionRow,
} from './queries/network-versions.ts';
export {
  deleteNetwork,
  findNetwork,
  insertNetwork,
  listNetworks,
  lockNetwork,
  type NetworkRow,
  type NetworkRows,
  readNetwork,
  writeDefinition,
} from './queries/networks.ts';
export {
  type Absorbed,
  absorb,
  type Canceled,
  cancel,
  type Forked,
  fork,
  type Retried,
  type RetryWith,
  retry,
  type Settled,
  type SettleOutcome,
  settle,
  sweep,
} from './queries/outside.ts';
export { type Overview, readOverview } from './queries/overview.ts';
export { findKeptPrompt, findPastStep, type PastStep } from './queries/past-step.ts';
export { ping, readClock } from './queries/ping.ts';
export {
  cancelPlan,
  type DuePlan,
  deletePlan,
  deletePlans,
  type Firing,
  firePlan,
  insertPlan,
  listPlans,
  lockPlans,
  type PlanRow,
  type PlansByRun,
  type PlansOf,
  type PlanTime,
  plansOfEntity,
  readPlan,
  readPlanToFire,
  rearmPlans,
  setPlans,
  updatePlan,
} from './queries/plans.ts';
export {
  addProject,
  allowedOutgoing,
  ensureProject,
  FIRST_PROJECT,
  type Furnish,
  findProject,
  hasModel,
  listProjects,
  lockProject,
  noteAgentsBrought,
  type ProjectRow,
  projectsWithoutAgents,
  updateProject,
} from './queries/projects.ts';
export {
  deleteProvider,
  findProvider,
  insertProvider,
  listProviders,
  lockKinds,
  lockProvider,
  noteKinds,
  type ProviderRow,
  readProvider,
  updateProvider,
} from './queries/providers.ts';
export { purgeBudgetLeases, purgePrompts, purgeTombstones, purgeWorkers } from './queries/purge.ts';
export { type DeadJob, type Queue, readDeadJobs, readQueue } from './queries/queue.ts';
export {
  forgetProgress,
  listRetention,
  type RetentionScopes,
  type RuleScope,
  readProgress,
  retentionScopes,
  saveProgress,
  saveRetention,
} from './queries/retention.ts';
export {
  averageBytes,
  countAudit,
  countBatches,
  countDeliveries,
  countEvents,
  countPlans,
  deleteOldFiles,
  type OldFile,
  oldFiles,
  purgeAudit,
  purgeBatches,
  purgeEvents,
  purgePlans,
  purgeProjectDeliveries,
  spacesWithOldEvents,
} from './queries/retention-rest.ts';
export {
  deleteRuns,
  type ExpiredRun,
  expiredRuns,
  keepResults,
  startAt,
  type TimePosition,
} from './queries/retention-runs.ts';
export {
  countExpiredSessions,
  countSessions,
  purgeExpiredSessions,
  purgeSessions,
} from './queries/retention-sessions.ts';
export {
  type ListedRunRecord,
  listRuns,
  type RunFilter,
  type RunPage,
  searchRuns,
} from './queries/run-list.ts';
export {
  choiceOf,
  endOf,
  failedRun,
  findRun,
  findRunInSpaces,
  listRunCalls,
  listRunSteps,
  openRuns,
  type RunCallRecord,
  type RunChoice,
  type RunRecord,
  type RunStepRecord,
  type TakenOver,
  takenOver,
} from './queries/runs.ts';
export { readResult, searchMessages } from './queries/search-messages.ts';
export { deleteSecret, findSecret, listSecrets, putSecret, type SecretRow } from './queries/secrets.ts';
export {
  type AllSessionsFilter,
  listAllSessions,
  listSessions,
  type SessionFilter,
  type SessionPage,
} from './queries/session-list.ts';
export {
  agentStatus,
  continueRun,
  createSession,
  deleteSession,
  findSession,
  findSessionForPost,
  forkSession,
  ownerOfRun,
  type SessionChanges,
  type SessionRow,
  type SessionScope,
  unansweredMessage,
  updateSession,
} from './queries/sessions.ts';
export { type LockFor, notify, openSignals } from './queries/signals.ts';
export {
  canonicalJson,
  checksumOf,
  loadSnapshots,
  saveSnapshot,
  saveSnapshotWithin,
} from './queries/snapshots.ts';
export {
  createSpace,
  deleteSpace,
  findSpace,
  listSpaces,
  openRunsOfSpace,
  type SpaceRow,
  type SpaceScope,
  updateSpace,
} from './queries/spaces.ts';
export { type EndedRun, type EndedStep, endedRuns, purgeEndedRuns, takeEnded } from './queries/spans.ts';
export {
  claimedRun,
  type NewRun,
  type Posted,
  post,
  type Started,
  type StartItem,
  start,
} from './queries/start.ts';
export {
  type Changed,
  changesAfter,
  type Found,
  findChatFor,
  findDocument,
  longestTransaction,
  lookForChanges,
  type Position,
  type SyncScope,
  syncHorizon,
} from './queries/sync.ts';
export {
  type CallPlace,
  listSubAgentCalls,
  listSubAgentMessages,
  listSubAgents,
  listTasks,
  type SubAgentCallRecord,
  type SubAgentFilter,
  type SubAgentMessageRecord,
  type SubAgentRecord,
  subAgentRecord,
  type TaskFilter,
  type TaskRecord,
  type TaskScope,
  taskRecord,
} from './queries/task-records.ts';
export { agentNamed, type NamedNetwork, networksNamed, toolsThatName } from './queries/task-tools.ts';
export {
  type AnsweredTask,
  activeAgentNames,
  answerTask,
  askGiver,
  type BegunTask,
  type ByCall,
  beginTask,
  type CreatedTask,
  createTask,
  findSubAgent,
  type MostTasks,
  questionsOf,
  quietTasks,
  reactivateTask,
  replyToTask,
  requestNotice,
  snapshotOfRun,
  taskRun,
  tasksSeenBy,
  triggerOfRun,
} from './queries/tasks.ts';
export {
  type RunTimes,
  readRunTimes,
  type TimedCall,
  type TimedEvent,
  type TimedStep,
} from './queries/timeline.ts';
export { readTodos, writeTodos } from './queries/todos.ts';
export {
  agentsWithTool,
  deleteTool,
  insertTool,
  listTools,
  networksWithTool,
  putAgentTool,
  readTool,
  type ToolRow,
  type ToolWrite,
  toolsNamed,
  toolsOfAgent,
  updateTool,
} from './queries/tools.ts';
export {
  armCaptures,
  countTriggers,
  deleteTrigger,
  enableTrigger,
  findPathIds,
  insertTrigger,
  isTidied,
  listTriggers,
  lockTriggers,
  newestDocuments,
  type PathIds,
  readTrigger,
  restCaptures,
  type TriggerDefinition,
  type TriggerRow,
  type TriggerWrite,
  updateTrigger,
} from './queries/triggers.ts';
export {
  type BudgetRow,
  keepUsageSums,
  listBudgets,
  namesOfUsage,
  readUsageSums,
  usageBegins,
  usageOfRuns,
  usageOfSteps,
} from './queries/usage.ts';
export { lookForWatchers } from './queries/watch.ts';
export {
  beat,
  disown,
  forgetWorker,
  heldBy,
  listWorkers,
  lockHolders,
  postgresUptimeMs,
  reap,
  rowlessHolders,
  type WorkerRow,
} from './queries/workers.ts';
export { inTransaction, type Transaction } from './transaction.ts';
