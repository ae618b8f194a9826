import { type Collection, syncSchemas } from '@troupe/protocol';
import { Ajv } from 'ajv';
import type { Pool } from 'pg';

const MADE: Record<Collection, string> = {
  tasks: 'select troupe.task_document(x) as made from troupe.tasks x',
  sub_agents: 'select troupe.sub_agent_document(x) as made from troupe.sub_agents x',
  sub_agent_messages: `select troupe.message_document(x) as made from troupe.messages x where (troupe.place_of_thread(x.thread_id)).collection = 'sub_agent_messages'`,
  sub_agent_tool_calls: 'select troupe.tool_call_document(x) as made from troupe.tool_calls x',
  sessions: 'select troupe.session_document(x) as made from troupe.sessions x',
  messages: `select troupe.message_document(x) as made from troupe.messages x where (troupe.place_of_thread(x.thread_id)).collection = 'messages'`,
  spaces: 'select troupe.space_document(x) as made from troupe.spaces x',
  memberships: 'select troupe.membership_document(x) as made from troupe.memberships x',
  runs: 'select troupe.run_document(x) as made from troupe.runs x',
};

/** Documents of everything that a test left behind which RxDB would not take, and how many there were of each collection. */
export async function invalidDocuments(
  pool: Pool,
): Promise<{ invalid: unknown[]; counts: Record<string, number> }> {
  const ajv = new Ajv({ strict: false, allErrors: true });
  const invalid: unknown[] = [];
  const counts: Record<string, number> = {};
  for (const [name, { indexes, primaryKey, version, ...schema }] of Object.entries(syncSchemas())) {
    // As RxDB has it.
    const isValid = ajv.compile({ ...schema, additionalProperties: false });
    const { rows } = await pool.query<{ made: object | null }>(MADE[name as Collection]);
    const documents = rows.flatMap(({ made }) => made ?? []);
    counts[name] = documents.length;
    for (const document of documents)
      if (!isValid(document)) invalid.push({ name, document, errors: isValid.errors });
  }
  return { invalid, counts };
}
