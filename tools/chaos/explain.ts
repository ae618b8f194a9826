import { cpSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Evidence, Violation } from './checker/evidence.ts';
import type { Outcome } from './run.ts';

/** How many violations are shown with their history; all are counted. */
const MAX_EXPLAINED = 10;

/** Prints the violations with the history of the things concerned, and keeps the logs of the processes. */
export function explain(
  { violations, evidence, options, directory }: Outcome,
  print: (text: string) => void,
): void {
  if (violations.length > 0)
    print(
      `\n${violations.length} violations with --seed ${options.seed}${options.pooled ? ' --pooled' : ''}:`,
    );
  for (const violation of violations.slice(0, MAX_EXPLAINED)) {
    print(`\n${violation.rule}\n  ${violation.subject}: ${violation.message}`);
    for (const line of historyOf(violation, evidence)) print(`    ${line}`);
  }
  if (violations.length === 0 && !options.keep) return;
  const kept = mkdtempSync(join(tmpdir(), 'troupe-kept-logs-'));
  for (const name of readdirSync(directory).filter((name) => name.endsWith('.log')))
    cpSync(join(directory, name), join(kept, name));
  print(`\nThe logs of the processes are in ${kept}.`);
}

/** Everything that the evidence has about the ids and labels in a violation. */
export function historyOf({ subject, message }: Violation, evidence: Evidence): string[] {
  const words = new Set(`${subject} ${message}`.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []);
  const names = (values: (string | undefined)[]) =>
    values.some((value) => value !== undefined && words.has(value));
  const show = (kind: string, value: unknown) => `${kind} ${JSON.stringify(value)}`;
  const requests = evidence.requests.filter(({ label, ids, runs = [] }) => names([label, ...ids, ...runs]));
  for (const { runs = [] } of requests) for (const run of runs) words.add(run);
  return [
    ...requests.map((request) => show('request', request)),
    ...[...words].flatMap((id) => evidence.runs.get(id) ?? []).map((run) => show('run', run)),
    ...evidence.calls.filter(({ run }) => words.has(run)).map((call) => show('call', call)),
    ...evidence.effects
      .filter(({ key }) => words.has(key.slice(0, 36)))
      .map((effect) => show('effect', effect)),
    ...evidence.answers
      .filter(({ label, run }) => names([label, run]))
      .map((answer) => show('answer', answer)),
    ...evidence.deliveries
      .filter(({ document }) => words.has(document))
      .map((delivery) => show('delivery', delivery)),
  ].slice(0, 40);
}
