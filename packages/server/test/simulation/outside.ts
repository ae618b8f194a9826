import type { StartItem } from '../../src/index.ts';
import type { SettleOutcome } from '../../src/store/queries/outside.ts';
import type { PostPolicy, Started } from '../../src/store/queries/start.ts';
import { PURSE } from './agents.ts';
import { ConnectionLost } from './network.ts';
import { isOver, type PostItem, PROJECT } from './records.ts';
import type { Simulation } from './simulation.ts';
import { type Course, run } from './timeline.ts';

interface OpenThread {
  thread: string;
  serial: boolean;
  entity: string;
}

/** Everybody who is no worker: people who write, settle, cancel, retry and raise budgets, each when they please. */
export class Outside {
  readonly #simulation: Simulation;
  readonly #places: OpenThread[];

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    const { random } = simulation;
    const entities = [simulation.newId(), simulation.newId()];
    this.#places = Array.from({ length: random.int(1, 3) }, () => ({
      thread: simulation.newId(),
      serial: random.chance(0.6),
      entity: random.pick(entities),
    }));
    for (const { thread } of this.#places)
      simulation.store.start({ project: PROJECT, thread, createThread: 'session' });
  }

  /** They do things until that time. */
  begin(until: number): void {
    const { random } = this.#simulation;
    for (let i = random.int(3, 10); i > 0; i--) this.#at(random.between(0, until), () => this.#speak());
    for (let i = random.int(0, 2); i > 0; i--) this.#at(random.between(0, until), () => this.#cancel());
    for (let i = random.int(0, 2); i > 0; i--) this.#at(random.between(0, until), () => this.#retry());
    for (let i = random.int(0, 2); i > 0; i--) this.#at(random.between(0, until), () => this.#insist());
    run(this.#settleOn(random.between(30, 900)));
  }

  #at(ms: number, course: () => Course): void {
    this.#simulation.timeline.after(ms, null, () => run(course()));
  }

  /** Tries until it is answered: what was sent carries its own ids and may arrive twice. */
  *#persist<Answer>(name: string, call: () => Answer): Course<Answer> {
    for (;;) {
      try {
        return yield* this.#simulation.network.ask(null, name, call);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        yield (resume) => this.#simulation.timeline.after(100, null, () => resume(undefined));
      }
    }
  }

  /** Somebody cannot wait and goes on talking. */
  *#insist(): Course {
    const { random, timeline } = this.#simulation;
    const place = this.#places.find(({ serial }) => serial);
    if (!place) return;
    const every = random.pick([20, 60, 200]);
    for (let i = random.int(5, 25); i > 0; i--) {
      yield (resume) => timeline.after(every * random.next(), null, () => resume(undefined));
      yield* this.#speak(place, 'steer');
    }
  }

  /** Somebody speaks this very moment. */
  heckle(): void {
    const place = this.#places.find(({ serial }) => serial);
    if (place) run(this.#speak(place, 'steer'));
  }

  *#speak(place?: OpenThread, manner?: PostPolicy): Course {
    const { random, newId, store, snapshots } = this.#simulation;
    const { thread, serial, entity } = place ?? random.pick(this.#places);
    const item: StartItem & Pick<PostItem, 'message' | 'run'> = {
      project: PROJECT,
      thread,
      message: { id: newId(), role: 'user', content: { text: 'Please.' } },
      run: {
        id: newId(),
        door: 'plain',
        entity,
        snapshot: random.pick([...snapshots.keys()]),
        triggerType: 'message',
        serial,
        historyLimit: 1_000,
        wallMs: random.pick([1_500, 20_000, 40_000, 40_000]),
        ...(serial || random.chance(0.7) ? {} : { lane: 'lane', laneLimit: 1 }),
        ...(random.chance(0.1) ? { delayMs: random.int(1, 3_000) } : {}),
      },
    };
    const policy = manner ?? random.pick(['queue', 'steer', 'interrupt', 'reject']);
    const answered = serial
      ? yield* this.#persist('post', () => store.post({ ...item, policy }))
      : yield* this.#start(item);
    const outcome = 'outcome' in answered ? answered.outcome : answered.ok ? 'started' : answered.code;
    this.#simulation.note(
      () =>
        `outside speaks in ${this.#simulation.short(thread)}: ${outcome} ${this.#simulation.short(answered.ok ? answered.run! : '')}`,
    );
    this.#simulation.count(`spoke:${outcome}`);
    if (!answered.ok) return;
    this.#simulation.hint({
      ...(answered.ready ? { queued: true } : {}),
      ...(outcome === 'interrupted' && 'canceled' in answered ? { runs: [answered.canceled!] } : {}),
      ...(outcome === 'steered' ? { runs: [answered.run!] } : {}),
    });
    // The same once more: an impatient user, or a proxy that tried again.
    if (random.chance(0.1)) {
      const runs = store.runs.size;
      yield* this.#persist('again', () => (serial ? store.post({ ...item, policy }) : store.start(item)));
      this.#simulation.must(store.runs.size >= runs, 'a repeated start lost a run');
    }
  }

  /** Through a process that also works, or through one that only serves. */
  *#start(item: StartItem): Course<Started> {
    const { random, store, workers } = this.#simulation;
    const there = workers.filter((worker) => worker.started && !worker.dead && !worker.paused);
    if (there.length > 0 && random.chance(0.5)) return yield* random.pick(there).begin(item);
    return yield* this.#persist('start', () => store.start(item));
  }

  *#cancel(): Course {
    const { store, random } = this.#simulation;
    const id = this.#anyRun((status) => !isOver(status));
    if (!id) return;
    const canceled = yield* this.#persist('cancel', () => store.cancel(id, 'user', 'somebody'));
    this.#simulation.note(() => `outside cancels ${this.#simulation.short(id)}: ${canceled.ok}`);
    this.#simulation.count(`cancel:${canceled.ok ? 'ok' : canceled.code}`);
    if (random.chance(0.9)) this.#simulation.hint({ runs: [id], queued: true });
  }

  *#retry(): Course {
    const { store } = this.#simulation;
    const id = this.#anyRun((status) => status === 'failed' || status === 'canceled');
    if (!id) return;
    const retried = yield* this.#persist('retry', () => store.retry(id));
    this.#simulation.note(() => `outside retries ${this.#simulation.short(id)}: ${retried.ok}`);
    this.#simulation.count(`retry:${retried.ok ? 'ok' : retried.code}`);
    if (retried.ok) this.#simulation.hint({ queued: true });
  }

  #anyRun(
    wanted: (
      status: 'queued' | 'running' | 'completed' | 'failed' | 'canceled' | 'waiting_tool' | 'waiting_reply',
    ) => boolean,
  ): string | null {
    const { store, random } = this.#simulation;
    const ids = [...store.runs.values()].filter((one) => wanted(one.status)).map((one) => one.id);
    return ids.length > 0 ? random.pick(ids) : null;
  }

  // ---- settlers

  *#settleOn(everyMs: number): Course {
    const { random, store, timeline } = this.#simulation;
    for (;;) {
      yield (resume) => timeline.after(everyMs * (0.5 + random.next()), null, () => resume(undefined));
      const waiting = [...store.runs.values()].flatMap((one) =>
        [...one.calls.values()]
          .filter((call) => call.waitsFor !== null)
          .map((call) => ({ run: one.id, call: call.id })),
      );
      if (waiting.length > 0) {
        const { run: id, call } = random.pick(waiting);
        // Sometimes two at once, of whom one comes late.
        for (let settlers = random.chance(0.2) ? 2 : 1; settlers > 0; settlers--) run(this.#settle(id, call));
      }
      if (random.chance(0.3)) {
        const raised = store.raiseBudget(PURSE);
        this.#simulation.afterCall('raise', null);
        if (raised.length > 0) this.#simulation.count('raised');
      }
      if (this.#simulation.over) return;
    }
  }

  *#settle(id: string, callId: string): Course {
    const { store, random, effects, invariants, newId } = this.#simulation;
    const outcome = this.#outcome(store.runs.get(id)!.calls.get(callId)!.waitsFor!);
    const message = newId();
    const settled = yield* this.#persist('settle', () => {
      const one = store.runs.get(id)!;
      const before = one.status;
      const { status } = one.calls.get(callId)!;
      const answer = store.settle(id, callId, outcome, 'somebody', message);
      if (!answer.ok) return answer;
      this.#simulation.note(
        () =>
          `outside settles ${this.#simulation.short(id)} ${callId}: ${outcome.status}, ${answer.openCalls} open${answer.queued ? ', queued' : ''}`,
      );
      invariants.settled(one, before, answer.queued);
      if (outcome.status !== 'proceed') effects.settled(id, callId);
      else if (status === 'in_doubt') effects.letAgain(id, callId);
      return answer;
    });
    this.#simulation.count(`settle:${settled.ok ? outcome.status : settled.code}`);
    if (settled.ok && settled.queued && random.chance(0.9)) this.#simulation.hint({ queued: true });
  }

  #outcome(waitsFor: string): SettleOutcome {
    const { random } = this.#simulation;
    const proceeds = waitsFor === 'approval' || waitsFor === 'person';
    if (proceeds && random.chance(0.7)) return { status: 'proceed' };
    if (random.chance(0.7)) return { status: 'completed', output: { from: 'outside' } };
    return { status: 'failed', error: { code: 'declined', message: 'No.' } };
  }
}
