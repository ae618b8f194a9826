// Times as people write them, on the clock of a time zone: `2030-03-31T02:30`, as a field for a date and a time has it.

const MINUTE = 60_000;
const DAY = 86_400_000;

/** The zone that times are in: the one that Settings name, else that of the browser. */
export function zoneOf(chosen: string | null): string {
  return chosen ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** What a clock in the zone shows, to the minute. */
export function wallTime(time: string, zone: string): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? '' : new Date(at + offsetAt(at, zone)).toISOString().slice(0, 16);
}

export interface Moment {
  time: string;
  /** `skipped`: no clock shows it, since it is put forward then. `twice`: clocks show it again after they were put back. */
  kind: 'plain' | 'skipped' | 'twice';
}

/**
 * The moment at which a clock in the zone shows this; null where it is no time. As plans do it: what is skipped is the end of the gap, and of two
 * it is the first.
 */
export function momentOf(wall: string, zone: string): Moment | null {
  const shown = Date.parse(`${wall}Z`);
  if (Number.isNaN(shown)) return null;
  const [before, after] = [offsetAt(shown - DAY, zone), offsetAt(shown + DAY, zone)];
  const found = [...new Set([before, after])]
    .map((offset) => shown - offset)
    .filter((at) => at + offsetAt(at, zone) === shown)
    .sort((one, other) => one - other);
  const [first, second] = found;
  if (first !== undefined)
    return { time: new Date(first).toISOString(), kind: second === undefined ? 'plain' : 'twice' };
  let [from, to] = [shown - after, shown - before];
  while (to - from > MINUTE) {
    const middle = from + Math.floor((to - from) / 2 / MINUTE) * MINUTE;
    if (offsetAt(middle, zone) === before) from = middle;
    else to = middle;
  }
  return { time: new Date(to).toISOString(), kind: 'skipped' };
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** How far the clock of the zone is ahead of UTC, in milliseconds. */
function offsetAt(at: number, zone: string): number {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
  formats.set(zone, format);
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const { year, month, day, hour, minute, second } = parts as Record<string, number>;
  const shown = Date.UTC(year!, month! - 1, day!, hour!, minute!, second!);
  return shown - Math.floor(at / 1_000) * 1_000;
}
