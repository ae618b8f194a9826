/** One line of what `/metrics` answers. */
export interface Line {
  family: string;
  name: string;
  labels: Record<string, string>;
  value: number;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const SUFFIXES: Record<string, string[]> = { histogram: ['_bucket', '_sum', '_count'] };

/** Reads the text format of Prometheus, version 0.0.4, and throws at whatever the format does not allow. */
export function readExposition(text: string): Line[] {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const lines: Line[] = [];
  const types = new Map<string, string>();
  const series = new Set<string>();
  let family = '';
  let helped = '';
  for (const row of text.slice(0, -1).split('\n')) {
    const help = /^# HELP (\S+) (.+)$/.exec(row);
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(row);
    if (help) {
      helped = help[1]!;
      if (help[2]!.replaceAll(/\\[\\n]/g, '').includes('\\')) throw new Error(`escaped wrongly: ${row}`);
    } else if (type) {
      family = type[1]!;
      if (!NAME.test(family) || helped !== family || types.has(family))
        throw new Error(`out of place: ${row}`);
      types.set(family, type[2]!);
    } else {
      const sample = readSample(row);
      const allowed = SUFFIXES[types.get(family)!] ?? [''];
      if (!allowed.some((suffix) => sample.name === family + suffix))
        throw new Error(`not of ${family}: ${row}`);
      const key = row.slice(0, row.lastIndexOf(' '));
      if (series.has(key)) throw new Error(`twice: ${row}`);
      series.add(key);
      lines.push({ family, ...sample });
    }
  }
  checkHistograms(lines.filter((line) => types.get(line.family) === 'histogram'));
  for (const { family: of, name, value } of lines)
    if (types.get(of) !== 'gauge' && !(value >= 0)) throw new Error(`${name} is ${value}`);
  return lines;
}

function readSample(row: string): Omit<Line, 'family'> {
  const parts = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(row);
  if (!parts || !NAME.test(parts[1]!)) throw new Error(`no sample: ${row}`);
  const value = parts[3] === '+Inf' ? Infinity : Number(parts[3]);
  if (Number.isNaN(value)) throw new Error(`no number: ${row}`);
  const labels: Record<string, string> = {};
  let rest = parts[2] ?? '';
  while (rest !== '') {
    const pair = /^([^=]+)="((?:[^"\\\n]|\\[\\"n])*)"(?:,(?=.)|$)/.exec(rest);
    if (!pair || !LABEL.test(pair[1]!) || pair[1]! in labels) throw new Error(`no labels: ${row}`);
    labels[pair[1]!] = pair[2]!.replaceAll(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one));
    rest = rest.slice(pair[0].length);
  }
  return { name: parts[1]!, labels, value };
}

/** Buckets go up, the last has no end, and it counts what `_count` counts. */
function checkHistograms(lines: Line[]): void {
  const groups = new Map<string, Line[]>();
  for (const line of lines) {
    const { le: _, ...labels } = line.labels;
    const key = `${line.family} ${JSON.stringify(labels)}`;
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  for (const [key, group] of groups) {
    const buckets = group.filter(({ name }) => name.endsWith('_bucket'));
    const bounds = buckets.map(({ labels }) => (labels.le === '+Inf' ? Infinity : Number(labels.le)));
    const counts = buckets.map(({ value }) => value);
    const ascending = (list: number[]) =>
      list.every((value, index) => index === 0 || value >= list[index - 1]!);
    const count = group.find(({ name }) => name.endsWith('_count'))?.value;
    const sum = group.find(({ name }) => name.endsWith('_sum'));
    if (
      !sum ||
      bounds.at(-1) !== Infinity ||
      counts.at(-1) !== count ||
      !ascending(bounds) ||
      !ascending(counts)
    )
      throw new Error(`no histogram: ${key}`);
  }
}
