import type { AgentDefinition, AgentPatch } from '@troupe/protocol';
import {
  type IdRange,
  type ListQuery,
  notFound,
  type Page,
  Refusal,
  readPageById,
  versionConflict,
} from '../../base/index.ts';
import {
  type AgentCapabilityRow,
  type AgentRow,
  type Author,
  type Database,
  listAgentCapabilities,
  listAgents as listRows,
  lockAgent,
  noteChange,
  readAgent,
  setAgentStatus,
  type Transaction,
  toolsThatName,
  usesOfAgent,
} from '../../store/index.ts';
import { addAgent, changeAgent, changing, reread } from './change.ts';
import { definitionOf } from './definition.ts';
import { patchedInlineTools } from './inline-tools.ts';

/** Who reads: a person sees active agents only. */
export interface Reader {
  project: string;
  person: boolean;
}

export async function createAgent(
  db: Database,
  author: Author,
  definition: AgentDefinition,
): Promise<AgentRow> {
  const noted = { action: 'agent.created', notes: null };
  return changing(db, (transaction) => addAgent(transaction, author, definition, noted));
}

export async function getAgent(db: Database, { project, person }: Reader, id: string): Promise<AgentRow> {
  const row = await readAgent(db.rows, project, id);
  if (!row || (person && row.status !== 'active')) throw notFound('agent');
  return row;
}

/** The capabilities of the agent, in order. */
export async function listCarried(db: Database, project: string, id: string): Promise<AgentCapabilityRow[]> {
  const { id: agent } = await getAgent(db, { project, person: false }, id);
  return listAgentCapabilities(db.rows, agent);
}

export async function listAgents(
  db: Database,
  { project, person }: Reader,
  query: ListQuery & { status: 'active' | 'archived'; tag?: string | undefined; search?: string | undefined },
): Promise<Page<AgentRow>> {
  const { status, tag, search, ...page } = query;
  if (person && status !== 'active') return { data: [], nextCursor: null };
  const list = (range: IdRange) => listRows(db, project, { status, tag, search, ...range });
  return readPageById(page, list);
}

export async function updateAgent(
  db: Database,
  author: Author,
  id: string,
  { status, notes, baseVersion, ...patch }: AgentPatch,
): Promise<AgentRow> {
  return changing(db, async (transaction) => {
    const found = await locked(transaction, author, id);
    if (baseVersion !== undefined && baseVersion !== found.version)
      throw versionConflict('agent', found.version);
    const before = definitionOf(found);
    const changes = given(patch);
    const definition = { ...before, ...changes, inlineTools: patchedInlineTools(before, changes) };
    const noted = { action: 'agent.changed', notes: notes ?? null };
    const changed = await changeAgent(transaction, author, { row: found, definition, noted });
    return setStatus(transaction, author, changed, status ?? changed.status, notes);
  });
}

export async function archiveAgent(db: Database, author: Author, id: string): Promise<void> {
  await changing(db, async (transaction) =>
    setStatus(transaction, author, await locked(transaction, author, id), 'archived'),
  );
}

export async function locked(transaction: Transaction, { project }: Author, id: string): Promise<AgentRow> {
  const row = await lockAgent(transaction, project, id);
  if (!row) throw notFound('agent');
  return row;
}

/** No new version: what the agent is stays the same. So why it was done stands in the audit log. */
export async function setStatus(
  transaction: Transaction,
  author: Author,
  row: AgentRow,
  status: AgentRow['status'],
  notes?: string,
): Promise<AgentRow> {
  if (row.status === status) return row;
  if (status === 'archived') {
    const uses = [
      ...(await usesOfAgent(transaction, row.id)),
      ...(await toolsThatName(transaction, author.project, 'agent', row)),
    ];
    if (uses.length > 0) throw agentInUse(uses);
  }
  await setAgentStatus(transaction, row.id, status);
  const data = { name: row.name, ...(notes === undefined ? {} : { notes }) };
  const action = status === 'archived' ? 'agent.archived' : 'agent.restored';
  await noteChange(transaction, author, { action, target: row.id, data });
  return reread(transaction, author.project, row.id);
}

function agentInUse(uses: string[]): Refusal {
  return new Refusal('conflict', 'agent_in_use', `The agent is in use by ${uses.join(', ')}.`, {
    hint: 'Change these first.',
  });
}

/** What null makes of a field that cannot be null itself. */
const CLEARED: Partial<Record<string, unknown>> = {
  systemPrompt: '',
  fallbackModelIds: [],
  tags: [],
  capabilities: [],
  tools: [],
  approvals: [],
  compaction: {},
  limits: {},
  metadata: {},
};

/** Fields that were left out are not there, rather than undefined. */
function given(patch: Omit<AgentPatch, 'status' | 'notes' | 'baseVersion'>): Partial<AgentDefinition> {
  return Object.fromEntries(
    Object.entries(patch)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [field, value ?? CLEARED[field] ?? null]),
  ) as Partial<AgentDefinition>;
}
