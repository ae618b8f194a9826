/**
 * react: hooks. What is shown is kept up to date by streams that are taken up again after a lost connection.
 * Imports: sdk.
 * Start reading: results.ts (what the hooks give), shared.ts (how components share one stream).
 */
export type { ActiveAgent, Api, LiveStep, LiveText, OpenRun, PendingCall, SessionCall } from '@troupe/sdk';
export { TroupeProvider, type TroupeProviderProps, useEntityId, useTroupe } from './provider.tsx';
export type * from './results.ts';
export { type ApprovalsFilter, useApprovals } from './use-approvals.ts';
export { useConnection } from './use-connection.ts';
export { useMessages } from './use-messages.ts';
export { useReadMarker } from './use-read-marker.ts';
export { useRun } from './use-run.ts';
export { type RunsFilter, useRuns } from './use-runs.ts';
export { useSession } from './use-session.ts';
export { type UseSpaceOptions, useActiveAgents, useMembers, useSpace } from './use-space.ts';
export { type TasksFilter, useTask, useTasks } from './use-tasks.ts';
export { useToolResult } from './use-tool-result.ts';
