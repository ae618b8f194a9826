import { LRUCache } from 'lru-cache';
import type { Model, ModelIo, ModelRequest } from '../../kernel/ports.ts';
import type { ModelProvider } from '../registry.ts';
import { inputTokens } from '../tokens.ts';
import { until } from '../waits.ts';
import { chooseScript, type Registered, turnAt } from './choose.ts';
import { play } from './play.ts';
import type { Script } from './turn.ts';

export interface ScriptedOptions {
  /** Awaited before the turn is played; what it throws is what the call throws. For ledgers and for crashes. */
  onRequest?: (request: ModelRequest, attempt: number) => void | Promise<void>;
  /** False for benchmarks: nothing is kept in `requests`. */
  record?: boolean;
}

export interface Scripted {
  /** For `createModels({ scripted: scripted.provider })`. */
  readonly provider: ModelProvider;
  /** A copy of every request, in the order of arrival, taken before the kernel adds to it. */
  readonly requests: readonly ModelRequest[];
  /** Registers a script, or replaces one. */
  add(name: string, script: Script): void;
}

/** `scripts`: by model name, or one script for every name. */
export function createScripted(
  scripts: Script | Record<string, Script> = {},
  options: ScriptedOptions = {},
): Scripted {
  const single = Array.isArray(scripts) || typeof scripts === 'function';
  const named = new Map(single ? [] : Object.entries(scripts as Record<string, Script>));
  const registered: Registered = { named, fallback: single ? (scripts as Script) : undefined };
  const requests: ModelRequest[] = [];
  const countAttempt = attemptCounter();

  async function generate(modelName: string, request: ModelRequest, io: ModelIo) {
    const attempt = countAttempt(request.requestKey);
    if (options.record !== false) requests.push(structuredClone(request));
    io.signal.throwIfAborted();
    if (options.onRequest) await until(Promise.resolve(options.onRequest(request, attempt)), io.signal);
    const { script, index } = chooseScript(request, modelName, registered);
    const turn =
      typeof script === 'function'
        ? await until(Promise.resolve(script(request, attempt)), io.signal)
        : turnAt(script, index);
    return play(turn, request, attempt, io);
  }

  /**
   * A function cannot be asked beforehand: one that gives a larger `usage` than the text's breaks its promise.
   * A missing or unreadable script is told by `generate`, not here.
   */
  function maxInputTokens(modelName: string, request: ModelRequest): number {
    try {
      const { script, index } = chooseScript(request, modelName, registered);
      const scripted = typeof script === 'function' ? undefined : script[index]?.usage;
      return scripted?.inputTokens ?? inputTokens(request);
    } catch {
      return inputTokens(request);
    }
  }

  return {
    provider: (modelName): Model => ({
      generate: (request, io) => generate(modelName, request, io),
      maxInputTokens: (request) => maxInputTokens(modelName, request),
    }),
    requests,
    add: (name, script) => void named.set(name, script),
  };
}

/** Bounded, so that a benchmark can make millions of calls: the oldest keys are forgotten. */
function attemptCounter(max = 10_000): (requestKey: string) => number {
  const attempts = new LRUCache<string, number>({ max });
  return (requestKey) => {
    const attempt = (attempts.get(requestKey) ?? 0) + 1;
    attempts.set(requestKey, attempt);
    return attempt;
  };
}
