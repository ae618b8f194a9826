import { PlotFrame } from './frame.tsx';
import { fills, type PlotProps, strokes } from './series.ts';

/** A line over time for each series. */
export function TimeLine(props: PlotProps) {
  const { buckets, series } = props;
  const most = buckets.reduce(
    (sofar, { values }) => Math.max(sofar, ...series.map(({ key }) => values[key] ?? 0)),
    0,
  );
  return (
    <PlotFrame {...props} most={most}>
      {({ x, y, band, at }) =>
        series.map(({ key, tone }) => {
          const points = buckets.map(
            ({ values }, index) => [x(index) + band / 2, y(values[key] ?? 0)] as const,
          );
          const line = points.map(([left, top]) => `${left.toFixed(1)},${top.toFixed(1)}`).join(' ');
          const pointed = at === null ? undefined : points[at];
          return (
            <g key={key}>
              {series.length === 1 && points.length > 1 && (
                <polygon
                  points={`${points[0]![0]},${y(0)} ${line} ${points.at(-1)![0]},${y(0)}`}
                  className={fills[tone]}
                  opacity={0.12}
                />
              )}
              <polyline
                points={line}
                fill="none"
                strokeWidth={1.75}
                strokeLinejoin="round"
                className={strokes[tone]}
              />
              {points.length === 1 && (
                <circle cx={points[0]![0]} cy={points[0]![1]} r={3} className={fills[tone]} />
              )}
              {pointed && <circle cx={pointed[0]} cy={pointed[1]} r={3} className={fills[tone]} />}
            </g>
          );
        })
      }
    </PlotFrame>
  );
}
