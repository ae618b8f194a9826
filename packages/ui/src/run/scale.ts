/** The stretch of time that is shown, in milliseconds. */
export interface View {
  from: number;
  to: number;
}

/** 1, 2 and 5 times ten to the n, and what clocks have. */
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...[1, 2, 7, 14, 28, 91, 182, 365].map((days) => days * 86_400_000),
];

/** Where ticks stand, counted from `origin`, at most `most` of them. */
export function ticksOf(view: View, origin: number, most: number): { at: number; label: string }[] {
  const length = view.to - view.from;
  if (!(length > 0)) return [];
  const step =
    STEPS.find((one) => length / one <= most) ?? Math.ceil(length / most / 86_400_000) * 86_400_000;
  const ticks: { at: number; label: string }[] = [];
  for (let at = Math.ceil((view.from - origin) / step) * step; origin + at <= view.to; at += step) {
    ticks.push({ at: origin + at, label: tickLabel(at, step) });
  }
  return ticks;
}

function tickLabel(ms: number, step: number): string {
  if (ms === 0) return '0';
  const sign = ms < 0 ? '-' : '';
  const size = Math.abs(ms);
  if (step >= 86_400_000) return `${sign}${Math.round(size / 86_400_000)} d`;
  if (size >= 3_600_000) {
    const minutes = Math.round((size % 3_600_000) / 60_000);
    return `${sign}${Math.floor(size / 3_600_000)} h${minutes ? ` ${minutes} min` : ''}`;
  }
  if (size >= 60_000) {
    const seconds = Math.round((size % 60_000) / 1_000);
    return `${sign}${Math.floor(size / 60_000)} min${seconds ? ` ${seconds} s` : ''}`;
  }
  if (step >= 1_000) return `${sign}${size / 1_000} s`;
  return size >= 1_000
    ? `${sign}${(size / 1_000).toFixed(step < 10 ? 3 : step < 100 ? 2 : 1)} s`
    : `${sign}${size} ms`;
}

/** Closer or further, around a moment that stays where it is. */
export function zoomed(view: View, whole: View, factor: number, around: number): View {
  const least = Math.min(1, whole.to - whole.from);
  const length = Math.min(whole.to - whole.from, Math.max(least, (view.to - view.from) * factor));
  const share = (around - view.from) / (view.to - view.from || 1);
  return clamped({ from: around - share * length, to: around + (1 - share) * length }, whole);
}

export function moved(view: View, whole: View, by: number): View {
  return clamped({ from: view.from + by, to: view.to + by }, whole);
}

function clamped(view: View, whole: View): View {
  const length = view.to - view.from;
  const from = Math.min(Math.max(view.from, whole.from), whole.to - length);
  return { from, to: from + length };
}
