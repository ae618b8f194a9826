import type { Change, NetworkDefinition, NetworkProblem, NetworkStatus } from '@troupe/protocol';
import { type ListQuery, notFound, type Page, Refusal, readPageById } from '../../base/index.ts';
import {
  type Author,
  type Database,
  deleteNetwork,
  findNetwork,
  isTaken,
  listNetworks as listRows,
  lockNetwork,
  type NetworkRow,
  type NetworkRows,
  noteChange,
  readNetwork,
  readWholeNetworkVersion,
  type Transaction,
  toolsThatName,
  type WholeNetworkVersionRow,
} from '../../store/index.ts';
import { addNetwork, changeNetwork, changingNetworks, editNetwork, lockedNetwork } from './change.ts';
import { changesBetween } from './changes.ts';
import { checkDefinition } from './check.ts';
import { compileNetwork } from './compile.ts';
import { definitionOf } from './definition.ts';
import { factsOf, foundIn } from './facts.ts';
import { withNames } from './names.ts';
import { networkAgents, networkTools } from './network-parts.ts';
import { noVersion } from './no-version.ts';
import { problemsOf } from './validate.ts';
import { versionChanges as versionChangesOf } from './version-changes.ts';

export async function createNetwork(
  db: Database,
  author: Author,
  definition: NetworkDefinition,
): Promise<NetworkRow> {
  const rows = await changingNetworks(db, async (transaction) =>
    addNetwork(transaction, author, await checkDefinition(transaction, author.project, definition)),
  );
  return rows.network;
}

export async function getNetwork(db: Database, project: string, idOrName: string): Promise<NetworkRow> {
  const row = await findNetwork(db.rows, project, idOrName);
  if (!row) throw notFound('network');
  return row;
}

export async function listNetworks(
  db: Database,
  project: string,
  { status, ...query }: ListQuery & { status?: NetworkStatus | undefined },
): Promise<Page<NetworkRow>> {
  return readPageById(query, (range) => listRows(db.rows, project, { status, ...range }));
}

type Fields<Whole> = { [Field in keyof Whole]?: Whole[Field] | undefined };
export type NetworkPatch = Fields<Omit<NetworkDefinition, 'tools' | 'agents' | 'policy' | 'response'>> & {
  policy?: Fields<NetworkDefinition['policy']> | undefined;
  response?: Fields<NetworkDefinition['response']> | undefined;
};

export async function updateNetwork(
  db: Database,
  author: Author,
  idOrName: string,
  patch: NetworkPatch,
): Promise<NetworkRow> {
  const { policy, response, ...rest } = patch;
  const rows = await editNetwork(db, author, idOrName, (before) => ({
    definition: {
      ...patched(before, rest),
      policy: patched(before.policy, policy),
      response: patched(before.response, response),
    },
  }));
  return rows.network;
}

function patched<Whole extends object>(before: Whole, patch: Fields<Whole> = {}): Whole {
  return {
    ...before,
    ...Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)),
  };
}

/** Its versions go with it. Runs stay, and those that have not ended go on: each has its snapshot. */
export async function removeNetwork(db: Database, author: Author, idOrName: string): Promise<void> {
  await changingNetworks(db, async (transaction) => {
    const { network } = await lockedNetwork(transaction, author.project, idOrName);
    const uses = await toolsThatName(transaction, author.project, 'network', network);
    if (uses.length > 0) throw networkInUse(uses);
    await deleteNetwork(transaction, network.id);
    const data = { name: network.name };
    await noteChange(transaction, author, { action: 'network.deleted', target: network.id, data });
  });
}

export async function getDefinition(
  db: Database,
  project: string,
  idOrName: string,
  { names = false }: { names?: boolean } = {},
): Promise<NetworkDefinition> {
  const definition = definitionOf(await wholeNetwork(db, project, idOrName));
  return names ? withNames(db.rows, project, definition) : definition;
}

export interface Applied {
  network: NetworkRow | null;
  changes: Change[];
  problems: NetworkProblem[];
  versionChanges: Change[] | null;
}

/** Makes the network what the document says, or makes one where there is none of that name. */
export async function applyDefinition(
  db: Database,
  author: Author,
  given: {
    idOrName: string;
    definition: NetworkDefinition;
    dryRun: boolean;
    /** Of the network that the document was made of. */
    updatedAt?: string | undefined;
    /** A version to tell what publishing would change of. */
    against?: number | undefined;
  },
): Promise<Applied> {
  let made = false;
  try {
    return await changingNetworks(db, async (transaction) => {
      const { idOrName, definition, dryRun, updatedAt, against } = given;
      const rows = await lockNetwork(transaction, author.project, idOrName);
      // A new one is made under the name that it was asked for by; another name, or an id of nothing, is an error.
      if (!rows && folded(idOrName) !== folded(definition.name)) throw notFound('network');
      made = !rows;
      if (updatedAt !== undefined) refuseChanged(rows, updatedAt);
      const before = rows ? definitionOf(rows) : null;
      const after = await checkDefinition(transaction, author.project, definition, { before });
      const changes = changesBetween(before, after);
      const id = rows?.network.id ?? null;
      const facts = await factsOf(transaction, author.project, { id, definition: after });
      const problems = problemsOf(after, facts);
      const old =
        against === undefined ? null : await versionAgainst(transaction, author.project, id, against);
      const versionChanges =
        old && problems.length === 0
          ? versionChangesOf(old, {
              definition: after,
              snapshot: compileNetwork(after, foundIn(after, facts)),
            })
          : null;
      if (dryRun) return { network: rows?.network ?? null, changes, problems, versionChanges };
      const written =
        before && rows
          ? await changeNetwork(transaction, author, { rows, before, definition: after })
          : await addNetwork(transaction, author, after);
      return { network: written.network, changes, problems, versionChanges };
    });
  } catch (error) {
    // Another made it meanwhile: then it is one to be changed.
    if (made && isTaken((error as Error).cause, 'networks_name')) return applyDefinition(db, author, given);
    throw error;
  }
}

async function versionAgainst(
  transaction: Transaction,
  project: string,
  network: string | null,
  version: number,
): Promise<WholeNetworkVersionRow> {
  const row = network && (await readWholeNetworkVersion(transaction, project, network, version));
  if (!row) throw noVersion(version);
  return row;
}

export async function copyNetwork(
  db: Database,
  author: Author,
  idOrName: string,
  name: string,
): Promise<NetworkRow> {
  const rows = await changingNetworks(db, async (transaction) => {
    const source = await lockedNetwork(transaction, author.project, idOrName);
    const before = definitionOf(source);
    const data = { copyOf: source.network.id };
    const definition = await checkDefinition(transaction, author.project, { ...before, name }, { before });
    return addNetwork(transaction, author, definition, data);
  });
  return rows.network;
}

export async function getGraph(db: Database, project: string, idOrName: string) {
  const rows = await wholeNetwork(db, project, idOrName);
  const agents = networkAgents(rows);
  return {
    network: rows.network,
    agents,
    tools: networkTools(rows),
    adjacency: agents.flatMap(({ key: from, routes }) => routes.map((to) => ({ from, to }))),
  };
}

export async function wholeNetwork(db: Database, project: string, idOrName: string): Promise<NetworkRows> {
  const rows = await readNetwork(db.rows, project, idOrName);
  if (!rows) throw notFound('network');
  return rows;
}

/** Whoever edits a copy must not undo, without knowing it, what another did meanwhile. */
function refuseChanged(rows: NetworkRows | undefined, updatedAt: string): void {
  if (rows?.network.updated_at.getTime() === Date.parse(updatedAt)) return;
  throw new Refusal('conflict', 'network_changed', 'Somebody else changed the network meanwhile.', {
    hint: 'Read it again, and apply your changes to what it is now.',
  });
}

function networkInUse(uses: string[]): Refusal {
  return new Refusal('conflict', 'network_in_use', `The network is in use by ${uses.join(', ')}.`, {
    hint: 'Delete these, or have them name another one.',
  });
}

function folded(name: string): string {
  return name.trim().normalize('NFKC').toLowerCase();
}
