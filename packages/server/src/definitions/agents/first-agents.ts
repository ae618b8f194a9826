import { type AgentDefinition, agentDefinition } from '@troupe/protocol';
import {
  type Author,
  type Database,
  hasAgentNamed,
  inTransaction,
  isTaken,
  noteAgentsBrought,
  projectsWithoutAgents,
  type Transaction,
} from '../../store/index.ts';
import { addAgent } from './change.ts';

/** What every project has from the start, so that there is somebody to give tasks to. They are agents as any other. */
const FIRST: readonly AgentDefinition[] = [
  agentDefinition.parse({
    name: 'general',
    description: 'Does what it is asked, for whoever needs no specialist.',
    systemPrompt: `You get work done that somebody hands to you. Do exactly what was asked, on your own and to the end; use your tools where
they help. Answer with the result itself: complete, so that whoever asked needs nothing else, and without telling how you got there.
Where something cannot be done or known, say so, and say why. Make nothing up.`,
    capabilities: [{ id: 'current_time' }, { id: 'web_fetch' }],
  }),
  agentDefinition.parse({
    name: 'researcher',
    description: 'Finds out what is so, from pages of the web, and names its sources.',
    systemPrompt: `You are a researcher. You find out what you are asked and answer in a few clear sentences, with the address of the source
after each claim. Where sources differ, say so. Where nothing reliable can be found, say that rather than guess.`,
    capabilities: [{ id: 'current_time' }, { id: 'research' }],
  }),
];

/** Brings them into a project, once: one that somebody archived or renamed does not come back. A name that is taken stays whose it is. */
export async function bringFirstAgents(transaction: Transaction, project: string): Promise<void> {
  if (!(await noteAgentsBrought(transaction, project))) return;
  const author: Author = { project, kind: 'system', id: null };
  for (const definition of FIRST) {
    if (await hasAgentNamed(transaction, project, definition.name)) continue;
    await addAgent(transaction, author, definition, { action: 'agent.created', notes: null });
  }
}

const TRIES = 5;

/** Into those that are older than this. Any number of processes may do so at once. */
export async function bringMissingAgents(db: Database, signal?: AbortSignal): Promise<void> {
  for (const project of await projectsWithoutAgents(db)) {
    if (signal?.aborted) return;
    for (let attempt = 1; ; attempt++) {
      try {
        await inTransaction(db, (transaction) => bringFirstAgents(transaction, project));
        break;
      } catch (error) {
        // Somebody took a name meanwhile; the next look sees it.
        if (attempt >= TRIES || !isTaken(error, 'agents_name')) throw error;
      }
    }
  }
}
