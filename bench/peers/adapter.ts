/** The contract between the harness and a system: one file in adapters/ implements it. */
import type { RunOptions } from './scenario.ts';

export interface SetupOptions {
  /** A database of the system's own, empty at the first set-up. */
  databaseUrl: string;
  poolSize: number;
  variant: string;
  /** The port of a server in the worker, and the ports of the service that was started for it. */
  ports: Ports;
}

export interface Ports {
  worker: number;
  ingress: number;
  admin: number;
  node: number;
}

export interface Adapter<State> {
  /** Runs in the measured process. W3 calls it again, in a new process on the same database. */
  setUp(options: SetupOptions): Promise<State>;
  /** One run of W1. Returns the final text, which the harness checks. */
  run(state: State, runId: string, options: RunOptions): Promise<unknown>;
  /** W2: stores a conversation, then takes one more turn in it. */
  seed(state: State, conversation: string, count: number): Promise<void>;
  turn(state: State, conversation: string, runId: string, options: RunOptions): Promise<unknown>;
  /** W3; absent if the system keeps nothing. */
  crash?: CrashAdapter<State>;
}

export interface CrashAdapter<State> {
  /** Calls `accepted` when the system has stored the run. Resolves when the run has ended. */
  start(state: State, runId: string, options: RunOptions, accepted: () => void): Promise<unknown>;
  /** The runs that are complete, out of the given ones. */
  finished(state: State, runIds: string[]): Promise<string[]>;
  /** The steps that the system's documentation asks for at boot. Absent if set-up recovers by itself. */
  recover?(state: State): Promise<void>;
  /** The steps of an operator, for a system that does not recover by itself. */
  resumeManually?(state: State, runIds: string[]): Promise<void>;
}

/** A program that runs beside the worker and survives its death. */
export interface Service {
  pids: number[];
  stop(): Promise<void>;
}

export interface ServiceOptions {
  directory: string;
  databaseUrl: string;
  ports: Ports;
}
