import {
  addRunBudgets,
  type Database,
  type RunRow,
  type StandingBudget,
  standingBudgets,
} from '../store/index.ts';
import { persistently } from './patiently.ts';

/** A hint says at once that something was set; this is for the one that was lost. */
const LOOK_AGAIN_MS = 5_000;

/**
 * Which budgets are set for what, as a worker knows it. Kept in memory, so that a run for which none is set costs no
 * statement, and one for which some are costs one: where they are written to its row.
 */
export class StandingBudgets {
  readonly #db: Database;
  #byTarget = new Map<string, string[]>();
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
    const own = run.budgetIds ?? [];
    const more = targetsOf(run)
      .flatMap((target) => this.#byTarget.get(target) ?? [])
      .filter((budget) => !own.includes(budget));
    if (more.length === 0) return run.budgetIds;
    const all = [...own, ...more];
    await persistently(() => addRunBudgets(this.#db, run, all), signal);
    run.budgetIds = all;
    return all;
  }

  /** One look at a time. */
  #look(): Promise<void> {
    const changes = this.#changes;
    this.#looking ??= standingBudgets(this.#db)
      .then((budgets) => {
        this.#byTarget = byTarget(budgets);
        this.#seen = changes;
      })
      .finally(() => {
        this.#looking = null;
      });
    return this.#looking;
  }
}

function targetsOf({ projectId, agentId, spaceId, threadId }: RunRow): string[] {
  return [
    `project ${projectId}`,
    ...(agentId ? [`agent ${agentId}`] : []),
    ...(spaceId ? [`space ${spaceId}`] : []),
    `session ${threadId}`,
  ];
}

function byTarget(budgets: StandingBudget[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { id, scope, holdsFor } of budgets) {
    const target = `${scope} ${holdsFor}`;
    found.set(target, [...(found.get(target) ?? []), id]);
  }
  return found;
}
