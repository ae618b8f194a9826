/** The report of a run as Markdown: the machine, the bounds, and one table for each workload. */
import { doorFigures, historyFigures, throughputFigures } from './figures.ts';
import { machineText } from './machine.ts';
import { bestDurablePeer, type Figure, FLOOR } from './ratios.ts';
import { type CrashTrial, type Results, type SystemResults, succeeded } from './results.ts';

const LEVELS = [1, 16, 64];
const VERDICTS = { pass: 'pass', fail: '**fail**', none: 'not measured' };

export function renderReport(results: Results, figures: Figure[]): string {
  const systems = Object.entries(results.systems);
  const sections = [
    renderHead(results, systems),
    table(
      'Bounds',
      ['figure', 'measured', 'bound', ''],
      figures.map(({ name, value, bound, verdict }) => [name, value, bound, VERDICTS[verdict]]),
    ),
    renderRatios(results.systems, systems),
    renderThroughput(systems),
    renderHistory(systems),
    renderCrash(systems),
    renderMemory(systems),
    renderDoors(systems),
    renderFailures(systems),
  ];
  return `${sections.filter(Boolean).join('\n\n')}\n`;
}

type Entries = [string, SystemResults][];

function renderHead({ startedAt, machine, versions, settings, complete }: Results, systems: Entries): string {
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const skipped = systems
    .filter(([, { skipped }]) => skipped)
    .map(([name, one]) => `${name} (${one.skipped})`);
  return [
    '# Troupe and its peers',
    `${startedAt.slice(0, 10)}, ${machineText(machine)}.${complete ? '' : ' Not a complete run.'}`,
    `Up to ${settings.seconds} s per figure, ${settings.trials} kills, ${settings.poolSize} connections.` +
      ' Each figure is the median of the quiet measurements, in which other processes used at most 10 % of the machine.' +
      ' `~`: fewer than three (W2: five) were quiet. `*`: none was quiet, so the figure is not reliable.',
    packages.length > 0 ? `Versions: ${packages.join(', ')}.` : '',
    skipped.length > 0 ? `Skipped: ${skipped.join('; ')}.` : '',
  ]
    .filter(Boolean)
    .join('\n\n');
}

function renderRatios(all: Results['systems'], systems: Entries): string {
  const best = LEVELS.map((level) => bestDurablePeer(all, level));
  const ratio = (own: number | undefined, other: number | undefined) =>
    own === undefined || !other ? '–' : (own / other).toFixed(2);
  return table(
    'W1: runs per second as a multiple of the floor, and of the best durable peer',
    [
      'system',
      ...LEVELS.map((level) => `× floor at ${level}`),
      ...LEVELS.map((level, index) => `× ${best[index]?.name ?? 'best peer'} at ${level}`),
    ],
    systems
      .filter(([, { W1 }]) => succeeded(W1))
      .map(([name, { W1 }]) => {
        const rates = LEVELS.map((level) => throughputFigures(W1, level)?.runsPerSecond);
        return [
          name,
          ...LEVELS.map((level, index) =>
            ratio(rates[index], throughputFigures(all[FLOOR]?.W1, level)?.runsPerSecond),
          ),
          ...LEVELS.map((_, index) => ratio(rates[index], best[index]?.runsPerSecond)),
        ];
      }),
  );
}

function renderThroughput(systems: Entries): string {
  return table(
    'W1: six model calls and five tool calls',
    [
      'system',
      ...LEVELS.map((level) => `runs/s at ${level}`),
      'p50 ms at 1',
      'p99 ms at 1',
      'CPU ms per run at 1: Node / Postgres / own server',
      'CPU ms at 16, all',
      'WAL KB per run',
      'transactions per run',
      'durable before the next step',
    ],
    systems.flatMap(([name, { W1, durability }]) => {
      const figures = LEVELS.map((level) => throughputFigures(W1, level));
      const [one, sixteen] = figures;
      if (!one) return [];
      return [
        [
          name,
          ...figures.map((figure) => (figure ? number(figure.runsPerSecond) + figure.mark : '–')),
          number(one.p50Ms),
          number(one.p99Ms),
          [one.appCpuMs, one.postgresCpuMs, one.serviceCpuMs].map(number).join(' / '),
          sixteen ? number(sixteen.appCpuMs + sixteen.postgresCpuMs + sixteen.serviceCpuMs) : '–',
          written(one),
          number(one.transactions),
          durability,
        ],
      ];
    }),
  );
}

function renderHistory(systems: Entries): string {
  const measured = systems.filter(([, { W2 }]) => succeeded(W2));
  const sizes = [
    ...new Set(measured.flatMap(([, { W2 }]) => Object.keys(succeeded(W2)!.sizes).map(Number))),
  ].toSorted((a, b) => a - b);
  return table(
    'W2: one turn with one tool call on a conversation of so many messages',
    [
      'system',
      ...sizes.map((size) => `ms at ${size.toLocaleString('en')}`),
      ...sizes.map((size) => `WAL KB at ${size.toLocaleString('en')}`),
    ],
    measured.map(([name, { W2 }]) => {
      const figures = sizes.map((size) => historyFigures(W2, size));
      return [
        name,
        ...figures.map((figure) => (figure ? number(figure.ms) + figure.mark : '–')),
        ...figures.map((figure) => (figure ? written(figure) : '–')),
      ];
    }),
  );
}

function renderCrash(systems: Entries): string {
  const list = (trials: CrashTrial[], read: (trial: CrashTrial) => number | string | null) =>
    trials.map((trial) => read(trial) ?? '–').join(', ');
  const seconds = (ms: number | null) => (ms === null ? null : (ms / 1_000).toFixed(1));
  return table(
    'W3: kill -9 in the middle of 100 runs, then a new worker; one value per trial',
    [
      'system',
      'batch without a kill, s',
      'all finished after the kill, s',
      'new worker ready, s',
      'unfinished without manual steps',
      'finished with manual steps, s',
      'tools repeated',
      'although the run had moved on',
    ],
    systems.flatMap(([name, { W3 }]) => {
      const trials = (W3 ?? [])
        .map((trial) => succeeded<CrashTrial>(trial))
        .filter((trial) => trial !== undefined);
      if (trials.length === 0) return [];
      return [
        [
          name,
          seconds(trials[0]!.uninterruptedMs) ?? '–',
          list(trials, ({ allFinishedMs }) => seconds(allFinishedMs) ?? 'never'),
          list(trials, ({ newWorkerReadyMs }) => seconds(newWorkerReadyMs)),
          list(trials, ({ unfinished }) => unfinished),
          list(trials, ({ allFinishedManuallyMs }) => seconds(allFinishedManuallyMs)),
          list(trials, ({ toolsRepeated }) => toolsRepeated),
          list(trials, ({ toolsRepeatedAfterNextStep }) => toolsRepeatedAfterNextStep),
        ],
      ];
    }),
  );
}

function renderMemory(systems: Entries): string {
  return table(
    'W4: memory of the process, MB',
    ['system', 'RSS at idle', 'RSS after the runs', 'heap after the runs', 'runs', 'own server RSS'],
    systems.flatMap(([name, { W4 }]) => {
      const memory = succeeded(W4);
      if (!memory) return [];
      const { idleRssMb, rssAfterMb, heapAfterMb, runs, serviceRssMb } = memory;
      const service = serviceRssMb ? serviceRssMb.toFixed(0) : '–';
      return [
        [name, idleRssMb.toFixed(0), rssAfterMb.toFixed(0), String(heapAfterMb), String(runs), service],
      ];
    }),
  );
}

function renderDoors(systems: Entries): string {
  return table(
    'W5: cost of one action through each door of Troupe',
    ['door', 'Node CPU ms', 'Postgres CPU ms', 'WAL KB'],
    systems.flatMap(([, { W5 }]) =>
      Object.keys(succeeded(W5)?.doors ?? {}).map((door) => {
        const { appCpuMs, postgresCpuMs, walBytes, mark } = doorFigures(W5, door)!;
        return [door, number(appCpuMs) + mark, number(postgresCpuMs), kilobytes(walBytes)];
      }),
    ),
  );
}

function renderFailures(systems: Entries): string {
  const rows = systems.flatMap(([name, results]) =>
    (['W1', 'W2', 'W3', 'W4', 'W5'] as const).flatMap((workload) =>
      [results[workload] ?? []]
        .flat()
        .flatMap((result) =>
          'error' in result ? [[name, workload, result.error.replaceAll(/[\s|]+/g, ' ').slice(0, 300)]] : [],
        ),
    ),
  );
  return table('Failed measurements', ['system', 'workload', 'error'], rows);
}

/** Empty if there are no rows. */
function table(title: string, columns: string[], rows: string[][]): string {
  if (rows.length === 0) return '';
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [`## ${title}`, '', line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A system with a server of its own writes to its own log instead of Postgres. */
function written({ walBytes, serviceBytes }: { walBytes: number; serviceBytes: number }): string {
  return serviceBytes > 0 ? `${kilobytes(serviceBytes)} (own disk)` : kilobytes(walBytes);
}

function kilobytes(bytes: number): string {
  return number(bytes / 1_024);
}

function number(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}
