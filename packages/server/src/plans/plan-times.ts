import { timestamp } from '@troupe/protocol';
import { lazy, Refusal } from '../base/index.ts';
import type { PlanTime } from '../store/index.ts';

const croner = lazy<typeof import('croner')>('croner');

// When a plan runs. What people and models write is understood here; everybody else has dates.

export interface GivenTime {
  runAfter?: string | undefined;
  scheduledAt?: string | undefined;
  cron?: string | undefined;
  timeZone?: string | undefined;
}

const SECONDS = { second: 1, minute: 60, hour: 3_600, day: 86_400, week: 604_800 };
const LONGEST_SECONDS = 366 * 86_400;
const KINDS = ['runAfter', 'scheduledAt', 'cron'] as const;
const CHOICE = 'Give exactly one of runAfter, scheduledAt and cron.';

/** Exactly one of the three, and a time that will come; `name` is the plan's, for the sentence that says why not. */
export function planTime(name: string, given: GivenTime, now: Date): PlanTime {
  const kinds = KINDS.filter((kind) => given[kind] !== undefined);
  if (kinds.length === 0) throw refusal('plan_without_time', `${planned(name)} says no time. ${CHOICE}`);
  if (kinds.length > 1)
    throw refusal('plan_with_two_times', `${planned(name)} has ${kinds.join(' and ')}. ${CHOICE}`, {
      path: kinds[1]!,
      message: `is there beside ${kinds[0]}`,
    });
  const { runAfter, scheduledAt, cron, timeZone } = given;
  const none = { runAfter: null, scheduledAt: null, cron: null, timeZone: null };
  if (cron !== undefined) return { ...none, ...cronTime(name, cron, timeZone ?? 'UTC', now) };
  if (timeZone !== undefined)
    throw invalid(name, 'timeZone', 'a time zone is for cron only; scheduledAt carries its own offset');
  if (runAfter !== undefined) {
    const text = runAfter.trim();
    return { ...none, runAfter: text, nextRunAt: new Date(now.getTime() + 1_000 * secondsIn(name, text)) };
  }
  const at = momentIn(name, scheduledAt!, now);
  return { ...none, scheduledAt: at, nextRunAt: at };
}

/** The times after a moment, as many as there are. */
export function cronTimes(cron: string, timeZone: string, after: Date, count: number): Date[] {
  return new (croner().Cron)(cron, { mode: '5-part', timezone: timeZone, paused: true }).nextRuns(
    count,
    after,
  );
}

/** When a plan that was due is due again: after now, however many times were missed. Null: it runs once. */
export function timeAfter(
  { cron, timeZone }: { cron: string | null; timeZone: string | null },
  due: Date,
  now: Date,
): Date | null {
  if (cron === null) return null;
  // A clock that is behind the one that fired it must not find the same time again.
  return cronTimes(cron, timeZone!, due > now ? due : now, 1)[0] ?? null;
}

function secondsIn(name: string, text: string): number {
  const [, count, unit] = /^(\d{1,9})\s*(second|minute|hour|day|week)s?$/i.exec(text) ?? [];
  const seconds = Number(count) * SECONDS[unit?.toLowerCase() as keyof typeof SECONDS];
  if (seconds >= 1 && seconds <= LONGEST_SECONDS) return seconds;
  throw invalid(
    name,
    'runAfter',
    `"${text}" is no time from now: write "30 minutes", "2 hours", "1 day" or "1 week", from 1 second to 366 days`,
  );
}

function momentIn(name: string, text: string, now: Date): Date {
  const parsed = timestamp.safeParse(text.trim());
  const at = new Date(parsed.success ? parsed.data : Number.NaN);
  if (Number.isNaN(at.getTime()))
    throw invalid(
      name,
      'scheduledAt',
      `"${text}" is no time: write it as 2030-01-31T09:00:00Z, with Z or an offset`,
    );
  if (at <= now) throw invalid(name, 'scheduledAt', `${text} is past; it is ${now.toISOString()} now`);
  return at;
}

function cronTime(name: string, text: string, zone: string, now: Date) {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5) {
    throw invalid(
      name,
      'cron',
      `"${text}" has not five fields: minute, hour, day of the month, month, day of the week`,
    );
  }
  const cron = fields.join(' ');
  const timeZone = zoneNamed(zone);
  if (timeZone === null)
    throw invalid(name, 'timeZone', `there is no time zone "${zone}": write it as Europe/Zurich`);
  let times: Date[];
  try {
    times = cronTimes(cron, timeZone, now, 1);
  } catch (error) {
    const why = (error as Error).message.replace(/^CronPattern: /, '');
    throw invalid(name, 'cron', `"${cron}" cannot be understood (${why})`);
  }
  if (times[0] === undefined)
    throw refusal('plan_never_runs', `${planned(name)} would never run: no day fits "${cron}".`, {
      path: 'cron',
      message: 'fits no day',
    });
  return { cron, timeZone, nextRunAt: times[0] };
}

/** As IANA writes it; offsets are no zones, they know no summer. */
function zoneNamed(zone: string): string | null {
  if (!/^[A-Za-z]/.test(zone)) return null;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return zone;
  } catch {
    return null;
  }
}

function invalid(name: string, path: string, why: string): Refusal {
  return refusal('plan_time_invalid', `${planned(name)} cannot be timed: ${why}.`, { path, message: why });
}

const planned = (name: string) => `The plan "${name}"`;

function refusal(code: string, message: string, issue?: { path: string; message: string }): Refusal {
  return new Refusal('invalid', code, message, {
    hint: 'Nothing was changed.',
    ...(issue ? { issues: [issue] } : {}),
  });
}
