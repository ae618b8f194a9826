import {
  type Json,
  MOST_BUCKETS,
  type UsageBy,
  type UsageInterval,
  type UsagePoint,
  type UsageReport,
  type UsageSeries,
} from '@troupe/protocol';
import { MILLIONTHS, Refusal } from '../base/index.ts';
import {
  type Database,
  keepUsageSums,
  namesOfUsage,
  readUsageSums,
  usageBegins,
  usageOfRuns,
  usageOfSteps,
} from '../store/index.ts';

// Hours and days that are over do not change any more: they are summed once and kept, and only what is not over is counted when
// somebody asks. Nothing is written where runs are.

const MS: Record<UsageInterval, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
/** Whatever was committed after its interval has been by then. */
const LATE_MS = 120_000;
const MOST_SERIES = 50;

/** What happened in one interval with the same agent, network or model. */
interface Sum {
  agent?: string | null;
  network?: string | null;
  model?: string;
  started: number;
  completed: number;
  failed: number;
  canceled: number;
  inputTokens: number;
  outputTokens: number;
  cost: number;
}
type Sums = Map<number, Sum[]>;

export interface UsageQuery {
  from?: string | undefined;
  to?: string | undefined;
  interval: UsageInterval;
  by: UsageBy;
}

export async function readUsage(db: Database, project: string, asked: UsageQuery): Promise<UsageReport> {
  const { interval, by } = asked;
  const { first, now } = await usageBegins(db, project);
  const to = asked.to === undefined ? now.getTime() : Date.parse(asked.to);
  const from = floor(asked.from === undefined ? to - MS.day : Date.parse(asked.from), interval);
  const intervals = Math.ceil((to - from) / MS[interval]);
  if (intervals > MOST_BUCKETS || intervals < 1) throw tooMany(intervals);
  // There is nothing before the first run, nor after now.
  const begin = Math.max(from, floor((first ?? now).getTime(), interval));
  const found = await sumsOf(
    { db, project },
    interval,
    begin,
    Math.min(to, now.getTime() + 1),
    now.getTime(),
  );
  const chosen = [...found].flatMap(([at, sums]) =>
    at >= from && at < to
      ? sums.filter(({ model }) => (model !== undefined) === (by === 'model')).map((sum) => ({ at, sum }))
      : [],
  );
  const all = seriesOf(chosen, by);
  const series = all.slice(0, MOST_SERIES);
  const names = await namesOfUsage(
    db,
    project,
    by,
    series.flatMap(({ key }) => key ?? []),
  );
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    interval,
    by,
    series: series.map((one) => ({ ...one, name: one.key === null ? null : (names.get(one.key) ?? null) })),
    total: presented(chosen.map(({ sum }) => sum).reduce(added, nothing())),
  };
}

interface UsageSource {
  db: Database;
  project: string;
}

async function sumsOf(
  source: UsageSource,
  interval: UsageInterval,
  from: number,
  to: number,
  now: number,
): Promise<Sums> {
  if (to <= from) return new Map();
  if (interval === 'minute') return counted(source, 'minute', from, to);
  const over = floor(now - LATE_MS, 'hour');
  if (interval === 'hour') {
    const kept = await sumsOfPast(source, 'hour', from, Math.min(to, over));
    return to > over ? joined([kept, await counted(source, 'hour', Math.max(from, over), to)], 'hour') : kept;
  }
  const today = floor(now - LATE_MS, 'day');
  const kept = await sumsOfPast(source, 'day', from, Math.min(to, today));
  // A day that is not over is made of its hours.
  return to > today
    ? joined([kept, await sumsOf(source, 'hour', Math.max(from, today), to, now)], 'day')
    : kept;
}

/** All of them are over. Those that nobody has asked for before are counted at once, and kept. */
async function sumsOfPast(
  source: UsageSource,
  every: 'hour' | 'day',
  from: number,
  to: number,
): Promise<Sums> {
  const { db, project } = source;
  if (to <= from) return new Map();
  const rows = await readUsageSums(db, project, every, new Date(from), new Date(to));
  const kept: Sums = new Map(rows.map(({ at, sums }) => [at.getTime(), sums as unknown as Sum[]]));
  const missing: number[] = [];
  for (let at = from; at < to; at += MS[every]) if (!kept.has(at)) missing.push(at);
  if (missing.length === 0) return kept;
  const made = await counted(source, every, missing[0]!, missing.at(-1)! + MS[every]);
  for (const at of missing) kept.set(at, made.get(at) ?? []);
  await keepUsageSums(
    db,
    project,
    every,
    missing.map((at) => ({ at: new Date(at), sums: kept.get(at) as unknown as Json })),
  );
  return kept;
}

/** Of every interval that begins within this time. */
async function counted(
  { db, project }: UsageSource,
  interval: UsageInterval,
  from: number,
  to: number,
): Promise<Sums> {
  const end = Math.ceil(to / MS[interval]) * MS[interval];
  const time = { from: new Date(from), to: new Date(end), interval };
  const [runs, steps] = await Promise.all([usageOfRuns(db, project, time), usageOfSteps(db, project, time)]);
  const sums = new Map<number, Map<string, Sum>>();
  const at = (time: Date, of: Pick<Sum, 'agent' | 'network' | 'model'>): Sum => {
    const ofInterval = sums.get(time.getTime()) ?? new Map<string, Sum>();
    sums.set(time.getTime(), ofInterval);
    const name = JSON.stringify(of);
    const sum = ofInterval.get(name) ?? { ...of, ...nothing() };
    ofInterval.set(name, sum);
    return sum;
  };
  for (const { agentId: agent, networkId: network, madeAt, endedAt, status, runs: count, ...used } of runs) {
    if (madeAt !== null) at(madeAt, { agent, network }).started += count;
    if (endedAt === null) continue;
    const sum = at(endedAt, { agent, network });
    sum[status!] += count;
    addUsed(sum, used);
  }
  for (const { model, at: time, ...used } of steps) addUsed(at(time, { model }), used);
  return new Map([...sums].map(([time, ofInterval]) => [time, [...ofInterval.values()]]));
}

function joined(parts: Sums[], interval: UsageInterval): Sums {
  const all: Sums = new Map();
  for (const part of parts)
    for (const [at, sums] of part) {
      const start = floor(at, interval);
      all.set(start, [...(all.get(start) ?? []), ...sums]);
    }
  return all;
}

type Numbers = Omit<Sum, 'agent' | 'network' | 'model'>;

function nothing(): Numbers {
  return { started: 0, completed: 0, failed: 0, canceled: 0, inputTokens: 0, outputTokens: 0, cost: 0 };
}

function addUsed(to: Numbers, used: Pick<Numbers, 'inputTokens' | 'outputTokens' | 'cost'>): void {
  to.inputTokens += used.inputTokens;
  to.outputTokens += used.outputTokens;
  to.cost += used.cost;
}

function added(to: Numbers, sum: Numbers): Numbers {
  to.started += sum.started;
  to.completed += sum.completed;
  to.failed += sum.failed;
  to.canceled += sum.canceled;
  addUsed(to, sum);
  return to;
}

/** What cost most first. */
function seriesOf(chosen: { at: number; sum: Sum }[], by: UsageBy): Omit<UsageSeries, 'name'>[] {
  const series = new Map<string | null, Map<number, Numbers>>();
  if (by === 'none') series.set(null, new Map());
  for (const { at, sum } of chosen) {
    const key = (by === 'none' ? null : sum[by]) ?? null;
    const points = series.get(key) ?? new Map<number, Numbers>();
    series.set(key, points);
    points.set(at, added(points.get(at) ?? nothing(), sum));
  }
  const totals = [...series].map(([key, points]) => ({
    key,
    points,
    total: [...points.values()].reduce(added, nothing()),
  }));
  const tokens = ({ total }: { total: Numbers }) => total.inputTokens + total.outputTokens;
  totals.sort(
    (one, two) =>
      two.total.cost - one.total.cost || tokens(two) - tokens(one) || two.total.started - one.total.started,
  );
  return totals.map(({ key, points, total }) => ({
    key,
    total: presented(total),
    points: [...points]
      .sort(([one], [two]) => one - two)
      .map(([at, numbers]): UsagePoint => ({ at: new Date(at).toISOString(), ...presented(numbers) })),
  }));
}

function presented({
  started,
  completed,
  failed,
  canceled,
  inputTokens,
  outputTokens,
  cost,
}: Numbers): Numbers {
  return { started, completed, failed, canceled, inputTokens, outputTokens, cost: cost / MILLIONTHS };
}

/** Where the interval of a time begins. All of them begin where days do, in UTC. */
function floor(ms: number, interval: UsageInterval): number {
  return Math.floor(ms / MS[interval]) * MS[interval];
}

function tooMany(intervals: number): Refusal {
  const [message, hint] =
    intervals < 1
      ? ['`from` is not before `to`.', 'Give times in their order.']
      : [
          `That would be ${intervals} intervals; an answer has at most ${MOST_BUCKETS}.`,
          'Take a longer interval, or less time.',
        ];
  return new Refusal('invalid', 'too_many_intervals', message!, {
    hint: hint!,
    issues: [{ path: 'from', message: 'does not fit `to` and the interval' }],
  });
}
