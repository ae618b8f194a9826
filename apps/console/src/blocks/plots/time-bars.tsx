import { PlotFrame } from './frame.tsx';
import { fills, type PlotProps } from './series.ts';

/** Bars over time, the series on top of each other. */
export function TimeBars(props: PlotProps) {
  const { buckets, series } = props;
  const sums = buckets.map(({ values }) => series.reduce((sum, { key }) => sum + (values[key] ?? 0), 0));
  return (
    <PlotFrame {...props} most={Math.max(0, ...sums)}>
      {({ x, y, band }) =>
        buckets.map(({ at, values }, index) => {
          let below = 0;
          const gap = Math.min(band * 0.2, 4);
          return (
            <g key={at}>
              {series.map(({ key, tone }) => {
                const value = values[key] ?? 0;
                if (value <= 0) return null;
                const from = y(below);
                below += value;
                const height = from - y(below);
                return (
                  <rect
                    key={key}
                    x={x(index) + gap / 2}
                    y={y(below)}
                    width={Math.max(1, band - gap)}
                    // A bar that is there can be seen, however small it is.
                    height={Math.max(height, 1)}
                    className={fills[tone]}
                  />
                );
              })}
            </g>
          );
        })
      }
    </PlotFrame>
  );
}
