import { createHash } from 'node:crypto';

// Ids are made of what a span is about, so that processes that never talk to each other name the same thing by the same id.

/** One trace for all runs that one run led to. */
export function traceId(rootRun: string): string {
  return hashOf('trace', rootRun).slice(0, 32);
}

export function runSpanId(run: string, lives: number): string {
  return hashOf('run', run, lives).slice(0, 16);
}

export function stepSpanId(run: string, lives: number, step: number): string {
  return hashOf('step', run, lives, step).slice(0, 16);
}

/** A worker asks a model again and again within one epoch, and another one within another. */
export function modelSpanId(run: string, epoch: number, thought: number): string {
  return hashOf('model', run, epoch, thought).slice(0, 16);
}

export function toolSpanId(run: string, epoch: number, call: string, attempt: number): string {
  return hashOf('tool', run, epoch, call, attempt).slice(0, 16);
}

function hashOf(...parts: (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
