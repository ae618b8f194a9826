/** What a plot shows: a number per bucket of time and series. */
export interface PlotBucket {
  /** When it begins. */
  at: string;
  values: Record<string, number>;
}

export type PlotTone = 'accent' | 'good' | 'bad' | 'warn' | 'info' | 'quiet';

export interface PlotSeries {
  key: string;
  label: string;
  tone: PlotTone;
}

export interface PlotProps {
  /** What it shows, for those who hear the page. */
  label: string;
  buckets: PlotBucket[];
  series: readonly PlotSeries[];
  format?: (value: number) => string;
  /** In pixels, the axis included. Default: 180. */
  height?: number;
}

export const fills: Record<PlotTone, string> = {
  accent: 'fill-accent',
  good: 'fill-good',
  bad: 'fill-bad',
  warn: 'fill-warn',
  info: 'fill-info',
  quiet: 'fill-line-strong',
};
export const strokes: Record<PlotTone, string> = {
  accent: 'stroke-accent',
  good: 'stroke-good',
  bad: 'stroke-bad',
  warn: 'stroke-warn',
  info: 'stroke-info',
  quiet: 'stroke-line-strong',
};
export const grounds: Record<PlotTone, string> = {
  accent: 'bg-accent',
  good: 'bg-good',
  bad: 'bg-bad',
  warn: 'bg-warn',
  info: 'bg-info',
  quiet: 'bg-line-strong',
};
