import { cpus } from 'node:os';
import { RULES } from './checker/check.ts';
import type { Happened } from './nemesis/nemesis.ts';
import type { Outcome } from './run.ts';

/** The outcome of a run as Markdown. */
export function report(outcome: Outcome): string {
  const { options, evidence, violations, happened, exits, loadMs, restMs, poolerVersion, modelRequests } =
    outcome;
  const runs = [...evidence.runs.values()];
  const connection = options.pooled ? `through PgBouncer ${poolerVersion}` : 'direct';
  const command = `npm run chaos -- --minutes ${options.minutes} --seed ${options.seed} --concurrency ${options.concurrency}${options.pooled ? ' --pooled' : ''}`;
  const accepted = evidence.requests.filter(({ outcome: end }) => end === 'accepted').length;
  const events = evidence.readers.reduce((sum, { events: list }) => sum + list.length, 0);
  const connections = evidence.readers.reduce((sum, { connections: count }) => sum + count, 0);
  return [
    `# Chaos, seed ${options.seed}, ${connection}`,
    `\`${command}\`: ${options.serve} \`serve\` and ${options.work} \`work\` processes on one Postgres, ${cpus().length} processors, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}.`,
    `**${violations.length} violations** in ${runs.length} runs with ${happened.length} faults. Load ${seconds(loadMs)}, rest after ${seconds(restMs)}.`,
    '## Load',
    table(
      ['Door', 'Runs', 'Completed', 'Failed', 'Canceled', 'Taken over or retried', 'p50', 'p95', 'p99'],
      doorRows(outcome),
    ),
    table(
      ['Request', 'Accepted', 'Refused', 'Sent more than once', 'p50', 'p95', 'p99'],
      [...Map.groupBy(evidence.requests, ({ made }) => made)].map(([made, list]) => [
        made,
        list.filter(({ outcome: end }) => end === 'accepted').length,
        list.filter(({ outcome: end }) => end === 'refused').length,
        list.filter(({ tries }) => tries > 1).length,
        ...percentiles(list.flatMap(({ sentAt, settledAt }) => (settledAt ? [settledAt - sentAt] : []))),
      ]),
    ),
    `${accepted} requests accepted; ${evidence.calls.length} tool calls with ${evidence.effects.length} effects (${evidence.calls.filter(({ status }) => status === 'in_doubt').length} in doubt); ${modelRequests.total} model requests, ${modelRequests.failed} of them failed by a fault; ${evidence.received.length} webhooks for ${evidence.deliveries.length} deliveries; ${evidence.readers.length} readers got ${events} events over ${connections} connections; ${evidence.copies.length} copies with ${evidence.copies.reduce((sum, { server }) => sum + server.size, 0)} documents.`,
    '## Faults and recovery',
    'Recovery is the time from the beginning of a fault to the next run that completed. Takeover is the time from the kill or the stop of a worker to the next step or the end of each run that it had.',
    table(
      ['Fault', 'Times', 'Recovery p50', 'p95', 'longest'],
      faultRows(
        happened,
        runs.flatMap(({ status, endedAt }) => (status === 'completed' && endedAt ? [endedAt] : [])),
      ),
    ),
    table(['Worker', 'Runs it had', 'Takeover p50', 'p95', 'longest'], takeoverRows(outcome)),
    exits.length > 0
      ? `Processes that ended by themselves: ${counted(exits.map((exit) => exit.replace(/-\d+/, '')))}.`
      : 'No process ended by itself.',
    failures(outcome),
    slowest(outcome),
    '## Promises',
    table(
      ['Promise', 'Violations'],
      Object.keys(RULES).map((rule) => [
        rule,
        violations.filter((violation) => violation.rule === rule).length,
      ]),
    ),
    ...(violations.length > 0
      ? [
          '## Violations',
          ...violations.slice(0, 20).map(({ rule, subject, message }) => `- ${rule}: ${subject}: ${message}`),
        ]
      : []),
    '',
  ].join('\n\n');
}

function doorRows({ evidence }: Outcome): (string | number)[][] {
  const runs = [...evidence.runs.values()];
  return [...Map.groupBy(runs, ({ door }) => door)].map(([door, list]) => {
    const count = (status: string) => list.filter((run) => run.status === status).length;
    const times = list.flatMap(({ status, createdAt, endedAt }) =>
      status === 'completed' && endedAt ? [endedAt - createdAt] : [],
    );
    return [
      door,
      list.length,
      count('completed'),
      count('failed'),
      count('canceled'),
      list.filter((run) => run.retried || run.takeovers > 0).length,
      ...percentiles(times),
    ];
  });
}

function faultRows(happened: Happened[], completions: number[]): (string | number)[][] {
  const sorted = completions.toSorted((one, two) => one - two);
  return [...Map.groupBy(happened, ({ kind }) => kind)].toSorted().map(([kind, list]) => {
    const times = list.flatMap(({ beganAt }) => {
      const next = sorted.find((at) => at > beganAt);
      return next ? [next - beganAt] : [];
    });
    const [p50, p95] = percentiles(times);
    return [kind, list.length, p50!, p95!, times.length > 0 ? milliseconds(Math.max(...times)) : '–'];
  });
}

function takeoverRows({ happened, evidence }: Outcome): (string | number)[][] {
  return (['work.kill', 'work.stop'] as const).map((kind) => {
    const times = happened
      .filter((fault) => fault.kind === kind)
      .flatMap(({ beganAt, heldRuns }) =>
        heldRuns.flatMap((id) => {
          const next = evidence.runs.get(id)?.moments.find((at) => at > beganAt);
          return next ? [next - beganAt] : [];
        }),
      );
    const [p50, p95] = percentiles(times);
    return [kind, times.length, p50!, p95!, times.length > 0 ? milliseconds(Math.max(...times)) : '–'];
  });
}

function failures({ evidence }: Outcome): string {
  const codes = [...evidence.runs.values()].flatMap(({ error, status }) =>
    status === 'failed' ? [error ?? 'none'] : [],
  );
  const refusals = evidence.requests.flatMap(({ outcome, code }) =>
    outcome === 'refused' && code ? [code] : [],
  );
  return `Runs that failed, by code: ${counted(codes)}. Requests that were refused, by code: ${counted(refusals)}.`;
}

/** The requests that took longest to be accepted, with what happened to their tries. */
function slowest({ evidence }: Outcome): string {
  const took = ({ sentAt, settledAt }: { sentAt: number; settledAt: number | null }) =>
    (settledAt ?? 0) - sentAt;
  const list = evidence.requests.toSorted((one, two) => took(two) - took(one)).slice(0, 3);
  const lines = list.map(
    (request) =>
      `- ${request.made} ${milliseconds(took(request))}: ${request.failures.join(', ') || 'one try'}`,
  );
  return ['The slowest requests:', '', ...lines].join('\n');
}

function counted(words: string[]): string {
  const groups = [...Map.groupBy(words, (word) => word)].map(([word, list]) => `${word} ${list.length}`);
  return groups.join(', ') || 'none';
}

export function percentiles(times: number[]): string[] {
  const sorted = times.toSorted((one, two) => one - two);
  return [0.5, 0.95, 0.99].map((share) =>
    sorted.length === 0
      ? '–'
      : milliseconds(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!),
  );
}

const milliseconds = (ms: number) => (ms < 10_000 ? `${Math.round(ms)} ms` : seconds(ms));
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

function table(head: string[], rows: (string | number)[][]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
