// What a process counts about itself: in memory, for whoever asks, in the text format of Prometheus. Labels are words of
// a few, never ids; should one turn out to have many values all the same, the later ones are counted together.

export interface Sample {
  /** What a part of a histogram is called beyond the family's name. */
  suffix?: '_bucket' | '_sum' | '_count';
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  samples: Sample[];
}

const MOST_SERIES = 1_000;
const OTHER = 'other';

const meters: { family(): Family }[] = [];

/** Everything that the rooms of this process count. */
export function countedHere(): Family[] {
  return meters.map((meter) => meter.family());
}

/** The values of one meter, by the values of its labels. */
class Series<Value> {
  readonly #names: readonly string[];
  readonly #make: () => Value;
  readonly #series = new Map<string, { labels: string[]; value: Value }>();

  constructor(names: readonly string[], make: () => Value) {
    this.#names = names;
    this.#make = make;
    // Without labels there is one series, and it is there from the start.
    if (names.length === 0) this.of([]);
  }

  of(labels: string[]): { value: Value } {
    const key = labels.length === 1 ? labels[0]! : labels.join('\0');
    const known = this.#series.get(key);
    if (known) return known;
    if (this.#series.size >= MOST_SERIES && labels.some((label) => label !== OTHER))
      return this.of(labels.map(() => OTHER));
    const series = { labels, value: this.#make() };
    this.#series.set(key, series);
    return series;
  }

  *entries(): Iterable<[Record<string, string>, Value]> {
    for (const { labels, value } of this.#series.values())
      yield [Object.fromEntries(this.#names.map((name, index) => [name, labels[index] ?? ''])), value];
  }
}

/** Only ever goes up, from nought at the start of the process. */
export class Counter {
  readonly #about: Omit<Family, 'samples'>;
  readonly #series: Series<number>;

  constructor(name: string, help: string, labels: readonly string[] = []) {
    this.#about = { name, help, type: 'counter' };
    this.#series = new Series(labels, () => 0);
    meters.push(this);
  }

  add(by: number, ...labels: string[]): void {
    this.#series.of(labels).value += by;
  }

  family(): Family {
    const samples = [...this.#series.entries()].map(([labels, value]) => ({ labels, value }));
    return { ...this.#about, samples };
  }
}

/** How many observations were how large. */
export class Histogram {
  readonly #about: Omit<Family, 'samples'>;
  readonly #bounds: readonly number[];
  readonly #series: Series<{ counts: number[]; sum: number }>;

  /** `bounds`: the upper ends of the buckets, ascending; one without end is added. */
  constructor(name: string, help: string, bounds: readonly number[], labels: readonly string[] = []) {
    this.#about = { name, help, type: 'histogram' };
    this.#bounds = bounds;
    this.#series = new Series(labels, () => ({
      counts: new Array<number>(bounds.length + 1).fill(0),
      sum: 0,
    }));
    meters.push(this);
  }

  observe(value: number, ...labels: string[]): void {
    const series = this.#series.of(labels).value;
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    series.counts[bucket]!++;
    series.sum += value;
  }

  family(): Family {
    const samples: Sample[] = [];
    for (const [labels, { counts, sum }] of this.#series.entries()) {
      let total = 0;
      counts.forEach((count, bucket) => {
        total += count;
        const le = bucket < this.#bounds.length ? String(this.#bounds[bucket]) : '+Inf';
        samples.push({ suffix: '_bucket', labels: { ...labels, le }, value: total });
      });
      samples.push({ suffix: '_sum', labels, value: sum });
      samples.push({ suffix: '_count', labels, value: total });
    }
    return { ...this.#about, samples };
  }
}

/** For what is not counted but looked at when somebody asks. */
export function gauge(name: string, help: string, value: number | Sample[]): Family {
  return { name, help, type: 'gauge', samples: Array.isArray(value) ? value : [{ labels: {}, value }] };
}

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function metricsText(families: readonly Family[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of families) {
    lines.push(
      `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
      `# TYPE ${name} ${type}`,
    );
    for (const { suffix = '', labels, value } of samples) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
      lines.push(`${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${shown(value)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function shown(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
