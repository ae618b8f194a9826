import { expect, test } from 'vitest';
import type { Refusal } from '../../src/base/index.ts';
import { cronTimes, type GivenTime, planTime, timeAfter } from '../../src/plans/plan-times.ts';

// When plans run: what can be written, and what a clock that is put forward or back makes of it.

const now = new Date('2026-11-16T08:00:00.000Z');
const timed = (given: GivenTime) => planTime('p', given, now).nextRunAt.toISOString();
const refused = (given: GivenTime) => {
  try {
    return timed(given);
  } catch (error) {
    return (error as Refusal).code;
  }
};

test.each([
  ['1 second', '08:00:01'],
  ['90 seconds', '08:01:30'],
  ['1 minute', '08:01:00'],
  [' 30 minutes ', '08:30:00'],
  ['2 Hours', '10:00:00'],
  ['2hours', '10:00:00'],
])('%s from now', (runAfter, at) => {
  expect(timed({ runAfter })).toBe(`2026-11-16T${at}.000Z`);
});

test.each([
  ['1 day', '2026-11-17'],
  ['3 days', '2026-11-19'],
  ['1 week', '2026-11-23'],
  ['366 days', '2027-11-17'],
])('%s from now', (runAfter, at) => {
  expect(timed({ runAfter })).toBe(`${at}T08:00:00.000Z`);
});

test('what is no time is refused, each with its own code', () => {
  for (const runAfter of [
    ...['', 'soon', '0 seconds', '-1 day', '1.5 hours', '367 days', '53 weeks', '999999999 weeks'],
    ...[
      '1e3 days',
      '1 month',
      '1 day 2 hours',
      'minutes',
      '５ minutes',
      '1 dayss',
      'constructor',
      '1 toString',
    ],
  ])
    expect([runAfter, refused({ runAfter })]).toEqual([runAfter, 'plan_time_invalid']);
  for (const scheduledAt of [
    ...['', 'tomorrow', '2026-11-16', '2030-01-01T09:00:00', '2030-02-30T09:00:00Z', '2030-01-01T25:00:00Z'],
    ...['2026-11-16T08:00:00Z', '2026-11-16T09:00:00+01:00', '1999-01-01T00:00:00Z'],
  ])
    expect([scheduledAt, refused({ scheduledAt })]).toEqual([scheduledAt, 'plan_time_invalid']);
  for (const cron of [
    ...[
      '',
      '* * * *',
      '* * * * * *',
      '*/10 * * * * *',
      '60 * * * *',
      '* 24 * * *',
      '* * 0 * *',
      '* * * 13 *',
    ],
    ...['@daily', '2030-01-01T00:00:00', 'a b c d e', '* * * * 9', '*/0 * * * *', '5-1 * * * *'],
  ])
    expect([cron, refused({ cron })]).toEqual([cron, 'plan_time_invalid']);
  for (const cron of ['0 0 30 2 *', '0 0 31 4,6,9,11 *', '59 23 31 2 *'])
    expect([cron, refused({ cron })]).toEqual([cron, 'plan_never_runs']);
  for (const timeZone of ['', 'Mars/Olympus', '+02:00', '../etc', 'Europe/Zurich ', '__proto__', '1'])
    expect([timeZone, refused({ cron: '0 9 * * *', timeZone })]).toEqual([timeZone, 'plan_time_invalid']);
  expect(refused({})).toBe('plan_without_time');
  expect(refused({ timeZone: 'Europe/Zurich' })).toBe('plan_without_time');
  expect(refused({ runAfter: '1 day', timeZone: 'Europe/Zurich' })).toBe('plan_time_invalid');
  expect(refused({ runAfter: '1 day', cron: '0 9 * * *' })).toBe('plan_with_two_times');
  expect(refused({ scheduledAt: '2030-01-01T00:00:00Z', runAfter: 'x' })).toBe('plan_with_two_times');
});

test('a moment is taken with its offset, a cron with its zone', () => {
  expect(timed({ scheduledAt: '2026-11-16T09:00:01+01:00' })).toBe('2026-11-16T08:00:01.000Z');
  expect(timed({ cron: '0 9 * * *' })).toBe('2026-11-16T09:00:00.000Z');
  expect(timed({ cron: ' 0  9 * * * ', timeZone: 'Europe/Zurich' })).toBe('2026-11-17T08:00:00.000Z');
  expect(timed({ cron: '0 9 * * MON', timeZone: 'America/New_York' })).toBe('2026-11-16T14:00:00.000Z');
  expect(timed({ cron: '0 0 29 2 *' })).toBe('2028-02-29T00:00:00.000Z');
});

const zurich = (cron: string, after: string, count: number) =>
  cronTimes(cron, 'Europe/Zurich', new Date(after), count).map((time) => time.toISOString().slice(5, 16));

test('in spring nine o’clock stays nine o’clock, and what falls into the hour that is missing runs once', () => {
  expect(zurich('0 9 * * *', '2027-03-26T12:00:00Z', 3)).toEqual([
    '03-27T08:00',
    '03-28T07:00',
    '03-29T07:00',
  ]);
  expect(zurich('30 2 * * *', '2027-03-27T00:00:00Z', 3)).toEqual([
    '03-27T01:30',
    '03-28T01:00',
    '03-29T00:30',
  ]);
  expect(zurich('0 * * * *', '2027-03-27T23:30:00Z', 4)).toEqual([
    ...['03-28T00:00', '03-28T01:00', '03-28T02:00', '03-28T03:00'],
  ]);
});

test('in autumn nine o’clock stays nine o’clock, and what falls into the hour that comes twice runs once', () => {
  expect(zurich('0 9 * * *', '2026-10-23T12:00:00Z', 3)).toEqual([
    '10-24T07:00',
    '10-25T08:00',
    '10-26T08:00',
  ]);
  expect(zurich('30 2 * * *', '2026-10-24T12:00:00Z', 2)).toEqual(['10-25T00:30', '10-26T01:30']);
  // From its first run on, as firing computes it.
  expect(zurich('30 2 * * *', '2026-10-25T00:30:00Z', 1)).toEqual(['10-26T01:30']);
  // Every hour is every hour.
  expect(zurich('0 * * * *', '2026-10-24T23:30:00Z', 4)).toEqual([
    ...['10-25T00:00', '10-25T01:00', '10-25T02:00', '10-25T03:00'],
  ]);
});

test('after times that were missed the next one is after now; with a clock that is behind, after the one that was due', () => {
  const hourly = { cron: '0 * * * *', timeZone: 'UTC' };
  const due = new Date('2026-11-15T22:00:00Z');
  expect(timeAfter(hourly, due, now)).toEqual(new Date('2026-11-16T09:00:00Z'));
  const behind = new Date('2026-11-15T21:59:59.500Z');
  expect(timeAfter(hourly, due, behind)).toEqual(new Date('2026-11-15T23:00:00Z'));
  expect(timeAfter({ cron: null, timeZone: null }, due, now)).toBe(null);
});
