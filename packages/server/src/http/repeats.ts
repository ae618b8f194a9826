import { type Endpoint, endpoints } from '@troupe/protocol';

/**
 * Why a POST can be carried out again if its server died before the answer was kept:
 * - derived: what it creates bears the id of the key (`call.id`), which the database takes once.
 * - recorded: the effect is committed together with the key; `again` answers a repeat.
 * - converging: carried out twice, it leaves what it leaves once.
 * - reading: it changes nothing.
 * - passing: it acts outside of the database, and may act twice. Nothing of it is kept.
 */
export type Repeat = 'derived' | 'recorded' | 'converging' | 'reading' | 'passing';

type Groups = typeof endpoints;
type PostIn<Group extends keyof Groups & string> = {
  [Name in keyof Groups[Group] & string]: Groups[Group][Name] extends { method: 'POST' }
    ? `${Group}.${Name}`
    : never;
}[keyof Groups[Group] & string];
export type PostName = { [Group in keyof Groups & string]: PostIn<Group> }[keyof Groups & string];

/** Every POST, or this does not compile. */
export const repeats: Record<PostName, Repeat> = {
  'access.createKey': 'recorded',
  'access.createProject': 'recorded',
  'agents.create': 'recorded',
  'agents.importOne': 'recorded',
  'agents.rollback': 'recorded',
  'batches.cancel': 'converging',
  'batches.create': 'derived',
  'batches.resume': 'recorded',
  'clients.register': 'converging',
  'clients.seen': 'converging',
  'entities.create': 'derived',
  'entities.erase': 'converging',
  'goals.create': 'recorded',
  'inbox.decide': 'converging',
  'inbox.results': 'converging',
  'mcpServers.create': 'recorded',
  'mcpServers.import': 'converging',
  'mcpServers.test': 'reading',
  'memories.setMany': 'recorded',
  'models.createModel': 'recorded',
  'models.createProvider': 'recorded',
  'networks.addAgent': 'recorded',
  'networks.archive': 'recorded',
  'networks.check': 'reading',
  'networks.copy': 'recorded',
  'networks.create': 'recorded',
  'networks.import': 'recorded',
  'networks.invoke': 'derived',
  'networks.prompt': 'reading',
  'networks.publish': 'recorded',
  'networks.rollback': 'recorded',
  'networks.validate': 'reading',
  'plans.cancel': 'recorded',
  'plans.create': 'recorded',
  'runs.cancel': 'converging',
  'runs.continue': 'derived',
  'runs.fork': 'derived',
  'runs.retry': 'recorded',
  'services.trigger': 'derived',
  'sessions.cancel': 'converging',
  'sessions.create': 'derived',
  'sessions.fork': 'derived',
  'sessions.postMessage': 'derived',
  'sessions.retry': 'recorded',
  'spaces.addMember': 'converging',
  'spaces.create': 'derived',
  'spaces.post': 'derived',
  'spaces.read': 'converging',
  'spaces.typing': 'passing',
  'subAgents.cancel': 'converging',
  'sync.push': 'converging',
  'tasks.answer': 'converging',
  'tasks.cancel': 'converging',
  'tasks.cancelAll': 'converging',
  'tasks.create': 'derived',
  'tools.create': 'recorded',
  'tools.test': 'passing',
  'tools.try': 'passing',
  'triggers.apply': 'converging',
  'triggers.create': 'recorded',
  'triggers.enable': 'recorded',
  'triggers.redeliver': 'recorded',
  'triggers.redeliverMany': 'recorded',
  'triggers.test': 'reading',
  'triggers.testUnsaved': 'reading',
};

const known = new Map<Endpoint, Repeat>(
  (Object.entries(repeats) as [PostName, Repeat][]).map(([name, repeat]) => {
    const [group, one] = name.split('.') as [keyof Groups, string];
    return [(endpoints[group] as Record<string, Endpoint>)[one]!, repeat];
  }),
);

/** Undefined for anything but a POST of the contract. */
export function repeatOf(endpoint: Endpoint): Repeat | undefined {
  return known.get(endpoint);
}
