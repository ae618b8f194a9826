import { setTimeout as delay } from 'node:timers/promises';
import { Counter, type Logger, messageOf } from '../base/index.ts';
import * as store from '../store/index.ts';
import { type ActParts, act } from './acts.ts';
import { judge, keyOf, Rules } from './judge.ts';
import { failed, outcomeOf, type Tried, thrown } from './outcome.ts';
import { sendWebhook, type WebhookParts } from './webhook.ts';

export interface EngineOptions extends WebhookParts {
  db: store.Database;
  logger: Logger;
  /** What runs and messages begin through; null in a process that only serves, which delivers to its own address and nothing else. */
  acts: ActParts | null;
  /** How often it looks without being told. */
  pollMs?: number;
  /** Calls back when something may have been written, for as long as it is not told to stop. Whatever it misses waits for the next look. */
  onWritten?: (listener: () => void) => () => void;
  /** For tests: called at what could be the last moment of a process. */
  probe?: (moment: Moment) => Promise<void>;
}

const attempts = new Counter(
  'troupe_trigger_attempts_total',
  'Attempts to make a delivery of a trigger: delivered, to be made again, or dead.',
  ['outcome'],
);

export type Moment = 'judging' | 'judged' | 'claimed' | 'sent';

const POLL_MS = 250;
/** Where much is written, it looks so often and not more. */
const LOOK_MS = 10;
/** Under way at once, in this process; of one rule, so that a slow receiver does not keep the others waiting. */
const MOST_AT_ONCE = 32;
const MOST_OF_ONE = 8;
/** So many given up in a row turn a rule off. */
const MOST_DEAD = 20;
/** As many attempts beyond those of the rule may have been lost with their processes; then it is the delivery that takes them along. */
const MOST_LOST = 5;
const LOST = failed('attempts_lost', 'No process that attempted it came to an end with it.', false);
/** A database that is away is asked so often to take what came of an attempt; then the lease runs out. */
const TRIES = 5;

/**
 * From changes to deliveries to what became of them. Every step is a row that is there before the next begins, so any process may be lost
 * at any time: what it had is taken up by another, under the same id.
 */
export class Engine {
  readonly #options: EngineOptions;
  readonly #rules: Rules;
  readonly #stop = new AbortController();
  /** Deliveries under way, by their id, and the rule of each. */
  readonly #underWay = new Map<string, { trigger: string; done: Promise<void> }>();
  #looking: Promise<void> | null = null;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #hinted: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  /** Whether there was a rule, or anything left to do, when it last looked. */
  #awake = false;
  readonly #deaf: () => void;
  #closed = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#rules = new Rules(options.db);
    this.#deaf = options.onWritten?.(() => this.#hint()) ?? (() => {});
  }

  start(): void {
    this.soon();
    const { pollMs = POLL_MS } = this.#options;
    this.#timer = setTimeout(
      () => {
        if (!this.#closed) this.start();
      },
      pollMs * (0.8 + Math.random() * 0.4),
    );
    this.#timer.unref();
  }

  /** At once, but not more often than it should. Where there is no rule, nobody looks for what is written. */
  #hint(): void {
    if (this.#closed || !this.#awake || this.#hinted) return;
    const wait = this.#lookedAt + LOOK_MS - performance.now();
    if (wait <= 0) {
      this.soon();
      return;
    }
    this.#hinted = setTimeout(() => {
      this.#hinted = undefined;
      this.soon();
    }, wait);
    this.#hinted.unref();
  }

  /** There may be something to do. */
  soon(): void {
    this.#again = true;
    if (!this.#closed) this.#looking ??= this.#look();
  }

  async #look(): Promise<void> {
    const { db, logger, acts, probe } = this.#options;
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        this.#lookedAt = performance.now();
        const { rules, changes, due } = await store.triggerWork(db);
        this.#awake = rules || changes || due;
        if (changes && acts) {
          if (probe) await probe('judging');
          if (await judge(db, this.#rules, async () => probe?.('judged'))) this.#again = true;
        }
        if ((changes && acts) || due) await this.#claim();
      }
    } catch (error) {
      const level = store.isConnectionError(error) || store.isContention(error) ? 'debug' : 'error';
      logger[level]({ error: messageOf(error) }, 'changes were not looked at');
    } finally {
      this.#looking = null;
    }
  }

  async #claim(): Promise<void> {
    const room = MOST_AT_ONCE - this.#underWay.size;
    if (room <= 0 || this.#closed) return;
    const claimed = await store.claimDeliveries(this.#options.db, {
      limit: Math.min(room, MOST_OF_ONE),
      own: this.#options.origin() !== null,
      others: this.#options.acts !== null,
      busy: this.#busy(),
    });
    for (const delivery of claimed) {
      const done = this.#deliver(delivery).finally(() => {
        this.#underWay.delete(delivery.id);
        this.soon();
      });
      this.#underWay.set(delivery.id, { trigger: delivery.trigger_id, done });
    }
    // There may be more of others.
    if (claimed.length > 0) this.#again = true;
  }

  #busy(): string[] {
    const counts = new Map<string, number>();
    for (const { trigger } of this.#underWay.values()) counts.set(trigger, (counts.get(trigger) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= MOST_OF_ONE).map(([trigger]) => trigger);
  }

  async #deliver(delivery: store.ClaimedDelivery): Promise<void> {
    const { logger, probe } = this.#options;
    const began = performance.now();
    const about = { delivery: delivery.id, trigger: delivery.trigger_id };
    try {
      if (probe) await probe('claimed');
      const one = { id: delivery.trigger_id, version: delivery.action_version };
      const rule = (await this.#rules.get([one])).get(keyOf(one));
      // Deleted, and its deliveries with it.
      if (!rule) return;
      const attempt = delivery.attempts - delivery.attempts_before;
      const { retry } = rule.definition;
      const lost = attempt > retry.maxAttempts + MOST_LOST;
      const tried = lost ? LOST : await this.#attempted(delivery, rule.name, rule.definition);
      if (probe) await probe('sent');
      const durationMs = performance.now() - began;
      await this.#end(delivery, outcomeOf(tried, { attempt, retry, durationMs }));
    } catch (error) {
      if (this.#closed) return await this.#handBack(delivery);
      // The lease runs out, and then it is tried again.
      logger.error({ ...about, error: messageOf(error) }, 'a delivery was not attempted');
    }
  }

  /** What fails in a way that nobody thought of counts as an attempt too: it would be tried for ever. */
  async #attempted(
    delivery: store.ClaimedDelivery,
    trigger: string,
    definition: store.TriggerDefinition,
  ): Promise<Tried> {
    try {
      return await this.#try(delivery, trigger, definition);
    } catch (error) {
      if (this.#closed || store.isConnectionError(error)) throw error;
      this.#options.logger.error(
        { delivery: delivery.id, trigger: delivery.trigger_id, error: messageOf(error) },
        'a delivery could not be attempted',
      );
      return thrown(error);
    }
  }

  #try(
    delivery: store.ClaimedDelivery,
    trigger: string,
    { action, timeoutMs }: store.TriggerDefinition,
  ): Promise<Tried> {
    const { acts } = this.#options;
    if (action.type === 'webhook')
      return sendWebhook(this.#options, delivery, { action, trigger, timeoutMs }, this.#stop.signal);
    if (!acts) return Promise.resolve(failed('no_worker', 'This process begins no runs.', true));
    return act(acts, delivery, { action, trigger });
  }

  async #end(delivery: store.ClaimedDelivery, outcome: store.AttemptOutcome): Promise<void> {
    const { db, logger } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const { ok, disabled } = await store.endAttempt(db, delivery, outcome, MOST_DEAD);
        if (ok) attempts.add(1, outcome.status === 'pending' ? 'again' : outcome.status);
        if (disabled)
          logger.warn({ trigger: delivery.trigger_id, reason: disabled }, 'a trigger was turned off');
        return;
      } catch (error) {
        if (attempt >= TRIES) throw error;
        await delay(50 * 2 ** attempt);
      }
    }
  }

  /** For others to make at once, where it is not known to be made. */
  async #handBack(delivery: store.ClaimedDelivery): Promise<void> {
    const outcome = { status: 'pending' as const, putOff: true as const, delayMs: 0, durationMs: 0 };
    await store.endAttempt(this.#options.db, delivery, outcome, MOST_DEAD).catch(() => {});
  }

  /** What is under way has so long to end; then it is given back. */
  async close(withinMs = 2_000): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#hinted);
    this.#deaf();
    await this.#looking;
    const all = () => Promise.allSettled([...this.#underWay.values()].map(({ done }) => done));
    await Promise.race([all(), delay(withinMs, undefined, { ref: false })]);
    this.#stop.abort(new Error('the process stops'));
    await Promise.race([all(), delay(500, undefined, { ref: false })]);
  }
}
