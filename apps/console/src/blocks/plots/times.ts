import type { PlotBucket } from './series.ts';

const DAY = 86_400_000;

/** How the beginning of a bucket is written: below the plot, and in full. Days of the API are those of UTC. */
export function bucketTimes(buckets: PlotBucket[], timeZone: string | null) {
  const [first, second] = buckets;
  const wide = first && second ? Date.parse(second.at) - Date.parse(first.at) : DAY;
  const isDays = wide >= DAY;
  const zone = isDays ? { timeZone: 'UTC' } : timeZone ? { timeZone } : {};
  const day = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', ...zone });
  const clock = new Intl.DateTimeFormat('en', {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    ...zone,
  });
  const isLong = first !== undefined && Date.parse(buckets.at(-1)!.at) - Date.parse(first.at) > 1.5 * DAY;
  return {
    short: (at: string) => {
      const date = new Date(at);
      if (isDays) return day.format(date);
      return isLong ? `${day.format(date)} ${clock.format(date)}` : clock.format(date);
    },
    full: (at: string) => {
      const date = new Date(at);
      return isDays ? day.format(date) : `${day.format(date)}, ${clock.format(date)}`;
    },
    /** The room that a short one takes, in pixels. */
    room: isDays || !isLong ? 64 : 104,
  };
}

const widths = { minute: 60_000, hour: 3_600_000, day: DAY };

/** One bucket for every interval: the API leaves out those in which nothing happened. */
export function fillBuckets<Point extends { at: string }>(
  { from, to, interval }: { from: string; to: string; interval: keyof typeof widths },
  points: Point[],
  valuesOf: (point: Point) => Record<string, number>,
): PlotBucket[] {
  const byTime = new Map(points.map((point) => [Date.parse(point.at), point]));
  const buckets: PlotBucket[] = [];
  const end = Date.parse(to);
  for (let at = Date.parse(from); at < end && buckets.length < 1_000; at += widths[interval]) {
    const point = byTime.get(at);
    buckets.push({ at: new Date(at).toISOString(), values: point ? valuesOf(point) : {} });
  }
  return buckets;
}
