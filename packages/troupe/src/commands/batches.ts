import { batchItemStatus } from '@troupe/protocol';
import { json, MORE, plain, table } from '../output.ts';
import { limitOf, numberOf, oneOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { ID } from './find-agent.ts';
import { systemParamsOf, textAt } from './given-files.ts';
import { whereOf } from './network-runs.ts';
import { show } from './show.ts';

/** What shells tell of a program that Ctrl-C ended. */
const INTERRUPTED = 130;
/** A large file takes a while to be sent and stored. */
const PATIENCE_MS = 300_000;
const FORMATS = ['csv', 'jsonl'] as const;

export const batches: Record<string, Command> = {
  async create(given) {
    const { troupe, options, words } = given;
    const [network, path] = words as [string, string];
    const iterations = numberOf('iterations', options.iterations);
    const concurrency = numberOf('concurrency', options.concurrency);
    const body = {
      format: formatOf(given, path),
      data: await textAt(path),
      systemParams: await systemParamsOf(given),
      ...whereOf(given),
      ...(iterations === undefined ? {} : { iterations }),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(options.name === undefined ? {} : { name: options.name }),
    };
    const params = { network };
    show(given, await troupe.batches.create({ params, body }, { timeoutMs: PATIENCE_MS }));
  },
  async list({ troupe, terminal, options, words }) {
    const { data, nextCursor } = await troupe.network(words[0]!).batches({ limit: limitOf(options) });
    const rows = data.map(({ counts, network, ...batch }) => ({
      ...batch,
      ...counts,
      version: network.version,
    }));
    const columns = ['id', 'name', 'status', 'version', 'total', 'completed', 'failed', 'bad', 'createdAt'];
    terminal.out(options.json ? json(data) : table(rows, columns));
    if (nextCursor) terminal.err(MORE);
  },
  async get(given) {
    show(given, await batchOf(given).get());
  },
  async items(given) {
    const { terminal, options } = given;
    const status = options.status ? { status: oneOf('status', options.status, batchItemStatus.options) } : {};
    const { data, nextCursor } = await batchOf(given).items({ limit: limitOf(options), ...status });
    const columns = ['row', 'iteration', 'attempt', 'status', 'input', 'response', 'error', 'runId'];
    terminal.out(options.json ? json(data) : table(data, columns));
    if (nextCursor) terminal.err(MORE);
  },
  async results(given) {
    const format = oneOf('format', given.options.format ?? 'jsonl', FORMATS);
    // A file: as it is.
    given.terminal.out(await batchOf(given).results(format, { timeoutMs: PATIENCE_MS }));
  },
  async watch(given) {
    const { terminal, options } = given;
    const interrupt = new AbortController();
    const undo = terminal.onInterrupt(() => interrupt.abort());
    try {
      let last = null;
      for await (const batch of batchOf(given).progress({ signal: interrupt.signal })) {
        last = batch;
        const { counts } = batch;
        const ended = counts.completed + counts.failed + counts.canceled;
        if (options.json) terminal.out(`${JSON.stringify(batch)}\n`);
        else
          terminal.out(
            `${batch.status}: ${ended} of ${counts.total}, ${counts.running} at work, ${counts.failed} failed, ${counts.canceled} canceled, ${counts.bad} bad rows\n`,
          );
      }
      return last?.status === 'completed' && last.counts.completed === last.counts.total ? 0 : 1;
    } catch (error) {
      if (!interrupt.signal.aborted) throw error;
      return INTERRUPTED;
    } finally {
      undo();
    }
  },
  async cancel(given) {
    show(given, await batchOf(given).cancel());
  },
  async resume(given) {
    show(given, await batchOf(given).resume({ failed: given.options.failed ?? false }));
  },
  async delete(given) {
    const batch = batchOf(given);
    await batch.delete();
    given.terminal.out(given.options.json ? json({ id: batch.id }) : `${plain(batch.id)} is deleted\n`);
  },
};

function batchOf({ troupe, words }: Surroundings) {
  const id = words[0]!;
  if (!ID.test(id))
    throw new UsageError(`"${id}" is no id of a batch`, '`troupe batches list <network>` shows them.');
  return troupe.batch(id);
}

function formatOf({ options }: Surroundings, path: string): 'csv' | 'jsonl' {
  if (options.format) return oneOf('format', options.format, FORMATS);
  if (/\.csv$/i.test(path)) return 'csv';
  if (/\.(jsonl|ndjson)$/i.test(path)) return 'jsonl';
  throw new UsageError('--format is missing: csv or jsonl', 'Files that end so need none.');
}
