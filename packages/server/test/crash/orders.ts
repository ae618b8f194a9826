import type { Json } from '@troupe/protocol';
import type { StartItem } from '@troupe/server';
import type { Boundary } from '../../src/kernel/probe.ts';
import type { SettleOutcome } from '../../src/store/queries/outside.ts';

// What a test and a worker process say to each other.

/** A place where the worker process sends itself a signal. */
export interface Strike {
  boundary: Boundary;
  when: 'before' | 'after';
  /** Which time it gets there, from 1. */
  occurrence?: number;
  /** Count only what concerns this run; boundaries that name no run count always. */
  run?: string;
  /** Default: SIGKILL. */
  signal?: 'SIGKILL' | 'SIGSTOP';
}

export interface Job {
  url: string;
  capacity?: number;
  graceMs?: number;
  strike?: Strike;
  /**
   * By run: it comes to a place of its own and goes no further. When all stand still the process kills itself, so that for each of them it
   * died right there.
   */
  stops?: Record<string, Strike>;
  /** `model`, the id of a run (its model calls), names of tools: such a call begins and does not end before `release`. */
  hold?: string[];
}

export type Order =
  | { type: 'work'; job: Job }
  | { type: 'start'; item: StartItem }
  | { type: 'settle'; run: string; call: string; outcome: SettleOutcome }
  /** Let everything end that is held, now and later. */
  | { type: 'release' }
  /** Drain, and wait for the next job. */
  | { type: 'rest' };

export interface Numbered {
  n: number;
  order: Order;
}

export type Report =
  | { type: 'ready' }
  | { type: 'done'; n: number; answer: Json }
  | { type: 'struck'; boundary: Boundary; when: 'before' | 'after'; runs: readonly string[] };
