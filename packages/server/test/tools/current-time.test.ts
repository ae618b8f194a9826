import { type Json, snapshotTool } from '@troupe/protocol';
import { createTools } from '@troupe/server/parts';
import { expect, test } from 'vitest';
import type { ToolContext } from '../../src/kernel/ports.ts';

const context = {} as ToolContext;
const tool = snapshotTool.parse({ name: 'current_time', provider: 'builtin' });

function ask(moment: string, args: Json): unknown {
  const execute = createTools({ now: () => new Date(moment) }).resolve(tool)!;
  return execute(args, context);
}

test('the time is told in UTC, or in the zone that is asked for', () => {
  expect(ask('2026-07-01T23:30:05Z', {})).toEqual({
    human: 'Wednesday, 1 July 2026 at 23:30:05 UTC',
    iso: '2026-07-01T23:30:05+00:00',
    timezone: 'UTC',
  });
  expect(ask('2026-07-01T23:30:05Z', { timezone: 'Europe/Berlin' })).toMatchObject({
    iso: '2026-07-02T01:30:05+02:00',
    timezone: 'Europe/Berlin',
  });
  expect(ask('2026-01-01T00:00:00Z', { timezone: 'Europe/Berlin' })).toMatchObject({
    iso: '2026-01-01T01:00:00+01:00',
  });
  expect(ask('2026-01-01T00:00:00Z', { timezone: 'Asia/Kolkata' })).toMatchObject({
    iso: '2026-01-01T05:30:00+05:30',
  });
  expect(ask('2026-01-01T00:00:00Z', { timezone: 'America/New_York' })).toMatchObject({
    iso: '2025-12-31T19:00:00-05:00',
  });
});

test('the moment that iso names is the moment it was', () => {
  const moment = '2026-03-29T00:59:59Z';
  for (const timezone of Intl.supportedValuesOf('timeZone')) {
    const { iso } = ask(moment, { timezone }) as { iso: string };
    expect([timezone, new Date(iso).getTime()]).toEqual([timezone, Date.parse(moment)]);
  }
});

test('a zone that there is not is told to the model', () => {
  for (const timezone of ['Mars/Olympus', '<script>', 'Europe/Berlin\0']) {
    expect(() => ask('2026-01-01T00:00:00Z', { timezone })).toThrow('There is no time zone');
  }
});

test('other providers and other names are not executed here', () => {
  const tools = createTools();
  expect(tools.resolve({ ...tool, provider: 'http' })).toBeUndefined();
  expect(tools.resolve({ ...tool, name: 'constructor' })).toBeUndefined();
});
