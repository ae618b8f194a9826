import { check } from './checker/check.ts';
import type { Evidence, Violation } from './checker/evidence.ts';
import { gather } from './checker/gather.ts';
import { waitForRest } from './checker/wait.ts';
import { define } from './clients/definitions.ts';
import { History } from './clients/history.ts';
import { Inbox } from './clients/inbox.ts';
import { offlineUsers, startLoad } from './clients/load.ts';
import { Readers } from './clients/reader.ts';
import { Requester } from './clients/requester.ts';
import { ModelDouble } from './doubles/model.ts';
import { Receiver } from './doubles/receiver.ts';
import { ToolDouble } from './doubles/tools.ts';
import { Fleet } from './fleet/fleet.ts';
import { type Happened, Nemesis } from './nemesis/nemesis.ts';
import { describe, schedule } from './nemesis/schedule.ts';
import type { Options } from './options.ts';
import { Random } from './random.ts';

export interface Outcome {
  options: Options;
  evidence: Evidence;
  violations: Violation[];
  happened: Happened[];
  /** Ends of processes that no fault asked for. */
  exits: string[];
  loadMs: number;
  restMs: number;
  poolerVersion: string | null;
  modelRequests: { total: number; failed: number };
  directory: string;
}

/** One run: load and faults for so long, then rest, then judgement. `onEnd` sees the outcome before the directory is removed. */
export async function run(
  options: Options,
  log: (line: string) => void,
  onEnd: (outcome: Outcome) => void | Promise<void> = () => {},
): Promise<Outcome> {
  const closing: (() => Promise<void>)[] = [];
  const later = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    closing.push(() => part.close());
    return part;
  };
  // Parts draw from generators of their own: what one does must not change what the others draw.
  const random = (part: number) => new Random(options.seed * 31 + part);
  try {
    const models = later(await ModelDouble.open(random(1)));
    const tools = later(await ToolDouble.open(random(2)));
    const receiver = later(await Receiver.open(random(3)));
    const allow = [models.host, tools.host, receiver.host];
    const fleet = later(await Fleet.open({ ...options, allow }));
    log(
      `fleet: ${options.serve} serve, ${options.work} work${fleet.pooler ? `, PgBouncer ${fleet.pooler.version}` : ''}, in ${fleet.directory}`,
    );
    const history = new History();
    const requester = new Requester(fleet.urls, fleet.key, history, random(4));
    const definitions = await define(
      requester.client,
      {
        models: models.url,
        tools: tools.url,
        receiver: receiver.url,
        secret: receiver.secret,
      },
      offlineUsers(options.concurrency),
    );
    const planned = schedule({
      kinds: options.faults,
      lengthMs: options.minutes * 60_000,
      everyMs: options.everyMs,
      durationScale: options.durationScale,
      random: random(5),
    });
    log(`seed ${options.seed}: ${planned.length} faults`);
    for (const fault of planned) log(describe(fault));
    const nemesis = new Nemesis({ fleet, models, tools, receiver, random: random(6) }, log);
    const readers = later(new Readers(requester, { key: fleet.key, url: fleet.urls[0]!, max: 40 }));
    const inbox = later(new Inbox(requester));
    const began = Date.now();
    const load = later(startLoad(requester, definitions, readers, options));
    const playing = nemesis.play(planned);
    await new Promise((resolve) => setTimeout(resolve, options.minutes * 60_000));
    await playing;
    requester.stop();
    log('load and faults have ended');
    await ended(load.ended, () => requester.underWay, log);
    const loadMs = Date.now() - began;
    const restless = await waitForRest(fleet, history, log);
    const restMs = Date.now() - began - loadMs;
    await inbox.close();
    const copies = await load.compare();
    const usage = await load.usage();
    const evidence = await gather(
      fleet.postgres.url,
      { history, tools, receiver },
      { copies, restless, usage },
    );
    const outcome: Outcome = {
      options,
      evidence,
      violations: check(evidence),
      happened: nemesis.happened,
      exits: fleet.members.flatMap((member) => member.exits),
      loadMs,
      restMs,
      poolerVersion: fleet.pooler?.version ?? null,
      modelRequests: models.requests,
      directory: fleet.directory,
    };
    await onEnd(outcome);
    return outcome;
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** Waits for the clients, and says now and then what they wait for. */
async function ended(
  load: Promise<unknown>,
  underWay: () => string[],
  log: (line: string) => void,
): Promise<void> {
  const timer = setInterval(() => log(`clients wait for: ${underWay().slice(0, 3).join('; ')}`), 15_000);
  await load.finally(() => clearInterval(timer));
}
