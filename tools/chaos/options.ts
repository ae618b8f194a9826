import { parseArgs } from 'node:util';
import { DOORS, type Door } from './clients/history.ts';
import { FAULTS, type FaultKind } from './nemesis/schedule.ts';

export interface Options {
  minutes: number;
  seed: number;
  pooled: boolean;
  /** How many turns are under way at once. */
  concurrency: number;
  serve: number;
  work: number;
  /** Between the beginnings of two faults, on average. */
  everyMs: number;
  /** Multiplies the time that faults last. */
  durationScale: number;
  doors: Door[];
  faults: FaultKind[];
  report: string | null;
  /** Keep the directory of the run, with the logs of the processes, also without a violation. */
  keep: boolean;
}

export const USAGE = `npm run chaos -- --minutes N --seed S [options]
  --minutes N        how long load and faults last (default 1)
  --seed S           decides load and faults (default: another one each time)
  --concurrency N    turns under way at once (default 100)
  --serve N, --work N  processes (default 2 and 3)
  --every MS         between two faults, on average (default 4500)
  --pooled           through PgBouncer in transaction mode
  --only A,B         only these doors and faults; a word before a dot stands for all faults of its kind, "none" for no faults
                     doors: ${DOORS.join(', ')}
                     faults: ${FAULTS.join(', ')}
  --report FILE      writes a report as Markdown
  --keep             keeps the logs of the processes`;

export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '1' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
      concurrency: { type: 'string', default: '100' },
      serve: { type: 'string', default: '2' },
      work: { type: 'string', default: '3' },
      every: { type: 'string', default: '4500' },
      pooled: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      report: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const number = (name: 'minutes' | 'seed' | 'concurrency' | 'serve' | 'work' | 'every') => {
    const value = Number(values[name]);
    if (!(value > 0)) throw new Error(`--${name}: "${values[name]}" is not a number above 0.\n${USAGE}`);
    return value;
  };
  const { doors, faults } = select(values.only.split(',').filter(Boolean));
  return {
    minutes: number('minutes'),
    seed: number('seed'),
    concurrency: number('concurrency'),
    serve: number('serve'),
    work: number('work'),
    everyMs: number('every'),
    durationScale: 1,
    pooled: values.pooled,
    doors,
    faults: faults.filter((kind) => values.pooled || kind !== 'pooler.restart'),
    report: values.report ?? null,
    keep: values.keep,
  };
}

function select(words: string[]): { doors: Door[]; faults: FaultKind[] } {
  const doors = DOORS.filter((door) => words.includes(door));
  const faults = FAULTS.filter((kind) => words.some((word) => word === kind || kind.startsWith(`${word}.`)));
  const unknown = words.find(
    (word) =>
      word !== 'none' && !doors.includes(word as Door) && !faults.some((kind) => kind.startsWith(word)),
  );
  if (unknown) throw new Error(`--only: "${unknown}" is neither a door nor a fault.\n${USAGE}`);
  return {
    doors: doors.length > 0 ? doors : [...DOORS],
    faults: faults.length > 0 || words.includes('none') ? faults : [...FAULTS],
  };
}
