import {
  addRunBudgets,
  type BudgetTarget,
  budgetsFor,
  budgetTargets,
  budgetTargetsSince,
  type Database,
  type RunRow,
} from '../store/index.ts';
import { IdSet } from './id-set.ts';
import { persistently } from './patiently.ts';

/** A hint says at once that something was set; this is for the one that was lost. */
const LOOK_AGAIN_MS = 5_000;
/** Those whose budgets are deleted stay in memory until there are so many more than there were that all are read anew. */
const MOST_MORE = 10_000;

/**
 * For what budgets are set, as a worker knows it. That is kept in memory, and each look brings what was added since, so that a run
 * for which none is set costs no statement. Which they are is asked only for what has some, and kept until the next look.
 * A budget that was deleted meanwhile does no harm: there is nothing to be leased of it, and it limits nobody.
 */
export class StandingBudgets {
  readonly #db: Database;
  /** Ids of projects, agents, spaces and threads. Also of some that have no budget any more. */
  #targets = new IdSet();
  #mostTargets = -1;
  /** All that was committed before this transaction is known. */
  #below = 0;
  /** Another one with each look, so that what was asked before it cannot be taken for what holds after it. */
  #asked = new Map<string, string[]>();
  /** How often something has changed, and how much of that is known. */
  #changes = 1;
  #seen = 0;
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  async start(): Promise<void> {
    await this.#look();
    this.#timer = setInterval(() => void this.#look().catch(() => {}), LOOK_AGAIN_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Something was set or deleted: whoever asks from now on is told with it. */
  changed(): void {
    this.#changes++;
  }

  /** Those that the run came with, from whatever began it, and those that are set for it. */
  async of(run: RunRow, signal: AbortSignal): Promise<string[] | null> {
    while (this.#seen < this.#changes) await persistently(() => this.#look(), signal);
    const targets = targetsOf(run).filter(({ id }) => this.#targets.has(id));
    if (targets.length === 0) return run.budgetIds;
    const set = await persistently(() => this.#budgetsFor(targets), signal);
    const own = run.budgetIds ?? [];
    const more = set.filter((budget) => !own.includes(budget));
    if (more.length === 0) return run.budgetIds;
    const all = [...own, ...more];
    await persistently(() => addRunBudgets(this.#db, run, all), signal);
    run.budgetIds = all;
    return all;
  }

  async #budgetsFor(targets: BudgetTarget[]): Promise<string[]> {
    const asked = this.#asked;
    const unknown = targets.filter((target) => !asked.has(nameOf(target)));
    if (unknown.length > 0) {
      const found = await budgetsFor(this.#db, unknown);
      for (const [index, target] of unknown.entries()) asked.set(nameOf(target), found[index]!);
    }
    return targets.flatMap((target) => asked.get(nameOf(target))!);
  }

  /** One look at a time. */
  #look(): Promise<void> {
    const changes = this.#changes;
    this.#looking ??= this.#read()
      .then(() => {
        this.#asked = new Map();
        this.#seen = changes;
      })
      .finally(() => {
        this.#looking = null;
      });
    return this.#looking;
  }

  async #read(): Promise<void> {
    const { below, targets } = await budgetTargetsSince(this.#db, this.#mostTargets < 0 ? null : this.#below);
    for (const id of targets) this.#targets.add(id);
    // Transactions that are counted from less on are those of another database, such as one that was restored.
    const all = this.#targets.size > this.#mostTargets || below < this.#below;
    this.#below = below;
    if (all) await this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#mostTargets = -1;
    const targets = new IdSet();
    for await (const ids of budgetTargets(this.#db)) for (const id of ids) targets.add(id);
    this.#targets = targets;
    this.#mostTargets = targets.size * 2 + MOST_MORE;
  }
}

/** The first that is used up decides what becomes of the run, so the order is always this. */
function targetsOf({ projectId, agentId, spaceId, threadId }: RunRow): BudgetTarget[] {
  return [
    { scope: 'project', id: projectId },
    ...(agentId ? [{ scope: 'agent', id: agentId } as const] : []),
    ...(spaceId ? [{ scope: 'space', id: spaceId } as const] : []),
    { scope: 'session', id: threadId },
  ];
}

function nameOf({ scope, id }: BudgetTarget): string {
  return `${scope} ${id}`;
}
