import type { NetworkDefinition, NetworkProblem, NetworkSnapshot } from '@troupe/protocol';
import { notFound, Refusal } from '../../base/index.ts';
import {
  type Author,
  checksumOf,
  type Database,
  insertNetworkVersion,
  inTransaction,
  type NetworkRows,
  type NetworkVersionRow,
  noteChange,
  readNetwork,
  readNetworkVersion,
} from '../../store/index.ts';
import { lockedNetwork } from './change.ts';
import { compileNetwork } from './compile.ts';
import { definitionOf } from './definition.ts';
import { type Facts, factsOf, foundIn } from './facts.ts';
import { problemsOf } from './validate.ts';

export async function validateNetwork(
  db: Database,
  project: string,
  network: string,
): Promise<{ ok: boolean; problems: NetworkProblem[] }> {
  const rows = await readNetwork(db.rows, project, network);
  if (!rows) throw notFound('network');
  const definition = definitionOf(rows);
  const facts = await factsOf(db.rows, project, { id: rows.network.id, definition });
  const problems = problemsOf(definition, facts);
  return { ok: problems.length === 0, problems };
}

/** What is being edited, as it would be published now; refused where it could not be. */
export async function compileDraft(db: Database, project: string, network: string): Promise<NetworkSnapshot> {
  const rows = await readNetwork(db.rows, project, network);
  if (!rows) throw notFound('network');
  const definition = definitionOf(rows);
  return snapshotOf(definition, await factsOf(db.rows, project, { id: rows.network.id, definition }));
}

/**
 * What the rows say becomes a version: with its snapshot, the status and the pointer in one transaction, under the network's lock, so
 * that versions have no gaps however many publish at once. The same content as the current version makes no new one: to publish twice,
 * or again after an answer that was lost, is to publish once.
 */
export async function publishNetwork(
  db: Database,
  author: Author,
  network: string,
  { notes }: { notes: string | null },
): Promise<NetworkVersionRow & { created: boolean }> {
  const { project } = author;
  return inTransaction(db, async (transaction) => {
    const rows = await lockedNetwork(transaction, project, network);
    refuseArchived(rows);
    const { id, name, current_version } = rows.network;
    const definition = definitionOf(rows);
    const facts = await factsOf(transaction, project, { id, definition });
    const compiled = checksumOf(snapshotOf(definition, facts));
    const current = current_version && (await readNetworkVersion(transaction, project, id, current_version));
    if (current && current.checksum === compiled.checksum) return { ...current, created: false };
    const write = { definition, compiled, by: nameOf(author), notes };
    const version = await insertNetworkVersion(transaction, { project, network: id }, write);
    await noteChange(transaction, author, {
      action: 'network.published',
      target: id,
      data: { name, version },
    });
    const made = await readNetworkVersion(transaction, project, id, version);
    return { ...made!, created: true };
  });
}

function snapshotOf(definition: NetworkDefinition, facts: Facts) {
  const problems = problemsOf(definition, facts);
  if (problems.length === 0) return compileNetwork(definition, foundIn(definition, facts));
  const [first] = problems;
  const more = problems.length > 1 ? ` There are ${problems.length} problems in all.` : '';
  throw new Refusal(
    'invalid',
    'network_invalid',
    `The network cannot be published: ${first!.message}${more}`,
    {
      hint: 'POST …/validate tells all of them, with their codes.',
      issues: problems.slice(0, 100).map(({ path, message }) => ({ path, message })),
    },
  );
}

export function refuseArchived({ network: { name, status } }: NetworkRows): void {
  if (status !== 'archived') return;
  throw new Refusal('conflict', 'network_archived', `The network "${name}" is archived.`, {
    hint: 'POST …/archive with {"archived": false} brings it back.',
  });
}

/** As the audit log names them. */
function nameOf({ kind, id }: Author): string {
  return id === null ? kind : `${kind}:${id}`;
}
