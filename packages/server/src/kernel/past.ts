import type { SnapshotModel } from '@troupe/protocol';
import { type Database, findPastStep, type PastStep } from '../store/index.ts';
import type { Door, RunView } from './door.ts';
import { DoorTools } from './door-tools.ts';
import type { ModelRequest } from './ports.ts';
import { Snapshots } from './snapshots.ts';
import { requestOf } from './think.ts';

/** What a model was asked at a step. */
export interface PastRequest {
  request: ModelRequest;
  provider: string;
  agentKey: string | null;
  /** What may have been different; empty: it is what was sent. */
  changed: string[];
}

/** Asks doors again for what they showed a model, by what is stored of the run: what makes a prompt is in one place. */
export class Past {
  readonly #db: Database;
  readonly #doors: Map<string, Door>;
  readonly #snapshots: Snapshots;
  readonly #doorTools = new DoorTools();

  constructor(db: Database, doors: readonly Door[]) {
    this.#db = db;
    this.#doors = new Map(doors.map((door) => [door.name, door]));
    this.#snapshots = new Snapshots(db);
  }

  /** Null where there is no such run; `step_not_found` where it took no such step and does not stand before it either. */
  async requestAt(at: {
    project: string;
    run: string;
    step: number;
  }): Promise<PastRequest | 'step_not_found' | null> {
    const past = await findPastStep(this.#db, at);
    if (!past) return null;
    const { run, taken, transcript } = past;
    const isNext = at.step === run.step + 1 && run.status !== 'completed';
    const door = this.#doors.get(run.door);
    const compiled = (await this.#snapshots.load([run.snapshotId])).get(run.snapshotId);
    if ((!taken && !isNext) || !door || !compiled) return 'step_not_found';
    const snapshot = this.#doorTools.with(door, compiled);
    const models = door.models?.({ run, snapshot, transcript }) ?? snapshot.models;
    const { model, isKnown } = modelOf(past, models);
    const view: RunView = { run, worker: '', snapshot, transcript, step: at.step, model, past: true };
    const context = await door.context(view);
    return {
      request: requestOf(context, view),
      provider: taken?.provider ?? model.provider,
      agentKey: taken?.agentKey ?? null,
      changed: [...(context.changed ?? []), ...changedOf(past, isKnown)],
    };
  }
}

function modelOf(
  { run, taken }: PastStep,
  models: readonly SnapshotModel[],
): { model: SnapshotModel; isKnown: boolean } {
  const last = models[Math.min(run.modelIndex, models.length - 1)]!;
  if (!taken) return { model: last, isKnown: true };
  const found = models.find(({ provider, model }) => provider === taken.provider && model === taken.model);
  return found
    ? { model: found, isKnown: true }
    : { model: { ...last, provider: taken.provider, model: taken.model }, isKnown: false };
}

function changedOf({ taken, isDoubtful }: PastStep, isKnown: boolean): string[] {
  if (!taken) return ['The step was not taken: this is what the model would be given now.'];
  return [
    ...(taken.inEarlierLife
      ? ['The run was taken up again since, with its agent as it was then: this is made of that.']
      : []),
    ...(taken.budgeted ? ['A budget may have allowed a shorter answer than `maxOutputTokens` says.'] : []),
    ...(isDoubtful
      ? ['Something was said to the run while the model was asked: it may not have read it yet.']
      : []),
    ...(isKnown
      ? []
      : ['The model is no longer among those of the run: how much it reads at once is not known.']),
  ];
}
