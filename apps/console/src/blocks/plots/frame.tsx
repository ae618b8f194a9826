import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { formatNumber } from '../../data/format.ts';
import { useSettings } from '../../data/settings.ts';
import { labelledBuckets, ticksUpTo } from './scale.ts';
import { grounds, type PlotProps } from './series.ts';
import { bucketTimes } from './times.ts';

const TOP = 8;
const BOTTOM = 22;
const RIGHT = 8;

/** Where things are in a plot. */
export interface Scale {
  /** The left edge of a bucket, and how wide one is. */
  x: (index: number) => number;
  band: number;
  y: (value: number) => number;
  /** The bucket that is pointed at. */
  at: number | null;
}

/**
 * What both plots have in common: axes, legend, the read-out of what is pointed at, and all of it as a table for those who cannot see it.
 * The marks are drawn by `children`.
 */
export function PlotFrame({
  label,
  buckets,
  series,
  format = formatNumber,
  height = 180,
  most,
  children,
}: PlotProps & { most: number; children: (scale: Scale) => ReactNode }) {
  const { timeZone } = useSettings();
  const [ref, width] = useWidth();
  const [at, setAt] = useState<number | null>(null);
  const times = useMemo(() => bucketTimes(buckets, timeZone), [buckets, timeZone]);
  const ticks = useMemo(() => ticksUpTo(most, height < 140 ? 2 : 4), [most, height]);
  const left = 14 + 7 * Math.max(...ticks.map((tick) => format(tick).length));
  const inner = Math.max(1, width - left - RIGHT);
  const band = inner / Math.max(1, buckets.length);
  const top = ticks.at(-1)!;
  const scale: Scale = {
    x: (index) => left + index * band,
    band,
    y: (value) => TOP + (1 - value / top) * (height - TOP - BOTTOM),
    at,
  };
  const pointAt = (clientX: number, element: Element) => {
    const index = Math.floor((clientX - element.getBoundingClientRect().left - left) / band);
    setAt(index >= 0 && index < buckets.length ? index : null);
  };
  return (
    <figure className="relative m-0 min-w-0 overflow-hidden" aria-label={label}>
      {series.length > 1 && <Legend series={series} />}
      <div ref={ref} className="relative">
        {width > 0 && (
          <svg
            aria-hidden="true"
            width={width}
            height={height}
            className="block touch-pan-y"
            onPointerMove={({ clientX, currentTarget }) => pointAt(clientX, currentTarget)}
            onPointerLeave={() => setAt(null)}
          >
            {ticks.map((tick) => (
              <g key={tick}>
                <line
                  x1={left}
                  x2={width - RIGHT}
                  y1={scale.y(tick)}
                  y2={scale.y(tick)}
                  className={tick === 0 ? 'stroke-line-strong' : 'stroke-line'}
                />
                <text
                  x={left - 8}
                  y={scale.y(tick)}
                  dy="0.32em"
                  textAnchor="end"
                  className="fill-faint text-2xs tabular-nums"
                >
                  {format(tick)}
                </text>
              </g>
            ))}
            {labelledBuckets(buckets.length, inner, times.room).map((index) => (
              <text
                key={index}
                x={Math.min(scale.x(index) + band / 2, width - times.room / 2 + 12)}
                y={height - 6}
                textAnchor="middle"
                className="fill-faint text-2xs tabular-nums"
              >
                {times.short(buckets[index]!.at)}
              </text>
            ))}
            {at !== null && (
              <rect
                x={scale.x(at)}
                y={TOP}
                width={band}
                height={height - TOP - BOTTOM}
                className="fill-hover"
              />
            )}
            {children(scale)}
          </svg>
        )}
        {at !== null && buckets[at] && (
          <div
            className="pointer-events-none absolute top-1 z-10 min-w-32 rounded-md border border-line bg-raised px-2.5 py-1.5 text-xs shadow-high"
            style={
              at > buckets.length / 2 ? { right: width - scale.x(at) + 6 } : { left: scale.x(at) + band + 6 }
            }
          >
            <p className="font-medium whitespace-nowrap">{times.full(buckets[at].at)}</p>
            {series.map(({ key, label: name, tone }) => (
              <p key={key} className="flex items-center gap-1.5 whitespace-nowrap text-muted">
                <span className={`size-2 rounded-sm ${grounds[tone]}`} />
                {name}
                <span className="ml-auto pl-3 text-text tabular-nums">
                  {format(buckets[at]!.values[key] ?? 0)}
                </span>
              </p>
            ))}
          </div>
        )}
      </div>
      <PlotTable {...{ label, buckets, series, format }} time={times.full} />
    </figure>
  );
}

function Legend({ series }: Pick<PlotProps, 'series'>) {
  return (
    <ul aria-hidden="true" className="mb-1 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      {series.map(({ key, label, tone }) => (
        <li key={key} className="flex items-center gap-1.5">
          <span className={`size-2 rounded-sm ${grounds[tone]}`} /> {label}
        </li>
      ))}
    </ul>
  );
}

/** Only buckets in which there is something: nobody wants to hear 500 zeros. */
function PlotTable({
  label,
  buckets,
  series,
  format,
  time,
}: Required<Pick<PlotProps, 'label' | 'buckets' | 'series' | 'format'>> & { time: (at: string) => string }) {
  const told = buckets.filter(({ values }) => series.some(({ key }) => (values[key] ?? 0) !== 0));
  return (
    <div className="sr-only">
      {told.length === 0 ? (
        <p>{label}: nothing in this time.</p>
      ) : (
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {series.map(({ key, label: name }) => (
                <th key={key} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {told.map(({ at, values }) => (
              <tr key={at}>
                <th scope="row">{time(at)}</th>
                {series.map(({ key }) => (
                  <td key={key}>{format(values[key] ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current!;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width] as const;
}
