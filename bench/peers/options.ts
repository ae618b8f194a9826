/** The options of the command. */
import { parseArgs } from 'node:util';
import { type System, selectSystems, WORKLOADS, type Workload } from './systems.ts';

export const USAGE = `npm run bench:peers -- [options]
  --only troupe,floor,langgraph:async   systems to run (default: one variant of each)
  --workloads W1,W3                     workloads to run (default: all)
  --seconds 12                          how long one figure may be sampled
  --trials 2                            kills in W3
  --minutes 60                          start nothing new after this time
  --wait-quiet 20                       seconds to wait for an idle machine before each measurement
  --check                               exit 1 if a bound is not met
  --summary                             write the report to bench/peers/summary.md
  --from FILE                           report an earlier run instead of measuring`;

export interface Options {
  systems: System[];
  workloads: Workload[];
  /** Nothing was left out. */
  complete: boolean;
  seconds: number;
  trials: number;
  minutes: number;
  waitQuietSeconds: number;
  check: boolean;
  summary: boolean;
  from: string | undefined;
  help: boolean;
}

export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      workloads: { type: 'string' },
      seconds: { type: 'string', default: '12' },
      trials: { type: 'string', default: '2' },
      minutes: { type: 'string', default: '60' },
      'wait-quiet': { type: 'string', default: '20' },
      check: { type: 'boolean', default: false },
      summary: { type: 'boolean', default: false },
      from: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    systems: selectSystems(values.only),
    workloads: selectWorkloads(values.workloads),
    complete: values.only === undefined && values.workloads === undefined,
    seconds: toNumber('seconds', values.seconds),
    trials: toNumber('trials', values.trials),
    minutes: toNumber('minutes', values.minutes),
    waitQuietSeconds: toNumber('wait-quiet', values['wait-quiet']),
    check: values.check,
    summary: values.summary,
    from: values.from,
    help: values.help,
  };
}

function selectWorkloads(list: string | undefined): Workload[] {
  if (list === undefined) return WORKLOADS;
  return list.split(',').map((name) => {
    const found = WORKLOADS.find((workload) => workload === name.toUpperCase());
    if (!found) throw new Error(`--workloads: unknown workload "${name}". Known: ${WORKLOADS.join(', ')}.`);
    return found;
  });
}

function toNumber(name: string, value: string): number {
  const number = Number(value);
  if (Number.isFinite(number) && number >= 0) return number;
  throw new Error(`--${name}: "${value}" is not a number.`);
}
