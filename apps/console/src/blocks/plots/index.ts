/** plots: small ones of our own, in SVG. Start reading: frame.tsx. */
export type { PlotBucket, PlotProps, PlotSeries, PlotTone } from './series.ts';
export { TimeBars } from './time-bars.tsx';
export { TimeLine } from './time-line.tsx';
export { fillBuckets } from './times.ts';
export { endedSeries, tokenSeries } from './usage-series.ts';
