import { agentDefinition, type Change, type Json } from '@troupe/protocol';
import { z } from 'zod';
import { diffJson, type ListQuery, notFound, type Page, Refusal, readPage } from '../../base/index.ts';
import {
  type AgentRow,
  type AgentVersionRow,
  type Author,
  type Database,
  listAgentVersions,
  readAgent,
  readAgentVersion,
  type Transaction,
} from '../../store/index.ts';
import { locked } from './agents.ts';
import { changeAgent, changing } from './change.ts';

export async function listVersions(
  db: Database,
  project: string,
  agent: string,
  query: ListQuery,
): Promise<Page<AgentVersionRow>> {
  if (!(await readAgent(db.rows, project, agent))) throw notFound('agent');
  return readPage(query, {
    position: z.int().positive(),
    positionOf: ({ version }) => version,
    read: (before, limit) => listAgentVersions(db.rows, project, agent, { before, limit }),
  });
}

export async function getVersion(
  db: Database,
  project: string,
  agent: string,
  version: number,
): Promise<AgentVersionRow> {
  return requireVersion(db.rows, project, agent, version);
}

export async function diffVersions(
  db: Database,
  project: string,
  agent: string,
  { from, to }: { from: number; to: number },
): Promise<{ from: number; to: number; changes: Change[] }> {
  const [old, current] = await Promise.all([
    requireVersion(db.rows, project, agent, from),
    requireVersion(db.rows, project, agent, to),
  ]);
  return { from, to, changes: diffJson(old.definition as Json, current.definition as Json) };
}

/** What the earlier version said becomes a new version: nothing between is lost, and runs stay pinned to theirs. */
export async function rollBack(
  db: Database,
  author: Author,
  agent: string,
  { version, notes }: { version: number; notes?: string | undefined },
): Promise<AgentRow> {
  return changing(db, async (transaction) => {
    const found = await locked(transaction, author, agent);
    const old = await requireVersion(transaction, author.project, agent, version);
    const definition = agentDefinition.parse(old.definition);
    const noted = { action: 'agent.rolled_back', notes: notes ?? `Back to version ${version}.` };
    return changeAgent(transaction, author, { row: found, definition, noted });
  });
}

async function requireVersion(
  rows: Transaction,
  project: string,
  agent: string,
  version: number,
): Promise<AgentVersionRow> {
  const found = await readAgentVersion(rows, project, agent, version);
  if (found) return found;
  if (!(await readAgent(rows, project, agent))) throw notFound('agent');
  throw new Refusal('not_found', 'version_not_found', `The agent has no version ${version}.`, {
    hint: 'GET …/versions lists those that it has.',
  });
}
