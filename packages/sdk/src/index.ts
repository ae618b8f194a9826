/**
 * sdk: the typed client, for Node and browsers. Everything comes from the endpoints of the contract.
 * Imports: protocol.
 * Start reading: client.ts (what it offers), transport.ts (how a request is sent), stream.ts (how a stream resumes).
 */
/** The shapes of what is sent and answered: `Api.Message`, `Api.Run`. */
export type * as Api from '@troupe/protocol';
export { Batch, type BatchWaitOptions } from './batch.ts';
export type { ChangesItem, ChangesOptions } from './changes.ts';
export { Troupe } from './client.ts';
export * from './errors.ts';
export { FollowedRun, type RunState } from './followed-run.ts';
export { FollowedSession, type FollowSessionOptions, type SessionState } from './followed-session.ts';
export {
  type ActiveAgent,
  FollowedSpace,
  type FollowOptions,
  type LiveText,
  type PendingCall,
  type SpaceState,
} from './followed-space.ts';
export { newId } from './ids.ts';
export type { LiveStep } from './live-steps.ts';
export {
  type Invocation,
  InvocationFailedError,
  type InvokeOptions,
  Network,
  type Responded,
} from './network.ts';
export type { Replication, ReplicationOptions } from './replication.ts';
export { Run } from './run.ts';
export type { ServeToolsOptions, ToolCallContext, ToolHandler } from './serve-tools.ts';
export { Session, type Turn, TurnFailedError, type WaitOptions } from './session.ts';
export type { OpenRun, SessionCall, WaitingFor } from './session-calls.ts';
export { type EndedRun, Space, type SpaceTurn, type SpaceWaitOptions } from './space.ts';
export type { InvocationItem, StreamItem, StreamOptions } from './stream.ts';
export {
  type TroupeReplicationOptions,
  troupeCollections,
  troupeReplication,
  troupeSchemas,
} from './sync.ts';
export type { TaskQuery } from './tasks.ts';
export type { InputOf, RequestOptions, TroupeOptions } from './transport.ts';
