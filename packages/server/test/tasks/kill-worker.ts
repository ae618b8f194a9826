import { flushCompileCache } from 'node:module';
import type { Json, JsonObject } from '@troupe/protocol';
import { silentLogger } from '../../src/base/index.ts';
import { createSessionsDoor } from '../../src/doors/sessions/index.ts';
import { createTasksDoor, delegationActs } from '../../src/doors/tasks/index.ts';
import { Kernel, type ModelRequest } from '../../src/kernel/index.ts';
import { createModels } from '../../src/models/registry.ts';
import { createScripted, type Turn } from '../../src/models/scripted/index.ts';
import { Database } from '../../src/store/index.ts';

// A worker in a process of its own that kills itself before or after one of the statements by which the flow is written. It imports no
// more than that needs: importing is most of what a process costs that is soon killed.

export interface Strike {
  statement: string;
  /** Which time it is sent, from 1. */
  nth: number;
  when: 'before' | 'after';
}
export type Order = { type: 'work'; url: string; strike?: Strike } | { type: 'rest' };
export type Report =
  | { type: 'ready' }
  | { type: 'done' }
  | { type: 'struck' }
  | { type: 'wrote'; statement: string };

const WRITES = new Set([
  'claim',
  'steps',
  'advance',
  'begin_task',
  'ask_giver',
  'reply_to_task',
  'join_child',
]);

class StrikingDatabase extends Database {
  readonly #strike: Strike | undefined;
  readonly #sent = new Map<string, number>();

  constructor(url: string, strike: Strike | undefined) {
    super({ url, applicationName: 'troupe/task-kill', logger: silentLogger });
    this.#strike = strike;
  }

  override async run<Row extends JsonObject>(
    ...[statement, pool]: Parameters<Database['run']>
  ): Promise<Row[]> {
    const { name } = statement;
    if (!WRITES.has(name)) return super.run<Row>(statement, pool);
    const isLook = name === 'claim' || name === 'join_child';
    if (!isLook) await this.#reach(name, 'before', 1);
    const rows = await super.run<Row>(statement, pool);
    // Looking for something, and finding nothing, writes nothing.
    const answer = rows[0]?.answer;
    const wrote =
      name === 'claim' ? rows.length > 0 : !isLook || (answer !== null && JSON.stringify(answer) !== '{}');
    if (wrote) {
      report({ type: 'wrote', statement: name });
      await this.#reach(name, 'after', isLook ? 1 : 0);
    }
    return rows;
  }

  async #reach(name: string, when: 'before' | 'after', counts: number): Promise<void> {
    const nth = (this.#sent.get(name) ?? 0) + counts;
    this.#sent.set(name, nth);
    if (this.#strike?.statement !== name || this.#strike.nth !== nth || this.#strike.when !== when) return;
    report({ type: 'struck' });
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {});
  }
}

function report(said: Report): void {
  process.send!(said);
}

const call = (name: string, args: Json) => ({ name, arguments: args });
const results = ({ messages }: ModelRequest) => {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  return messages.slice(last + 1).flatMap((one) => (one.role === 'tool' ? [one.output as JsonObject] : []));
};

/** The whole flow, answered from what the request says alone. */
function say(request: ModelRequest): Turn {
  const got = results(request);
  if (request.system.includes('I am finder.')) {
    if (got.length === 0) return { calls: ['a', 'b', 'c'].map((q) => call('lookup', { q })) };
    if (got.length === 3) return { calls: [call('ask_user', { question: 'Which currency?' })] };
    return { calls: [call('final_answer', { result: `42 ${got[3]!.answer}` })] };
  }
  if (got[0]?.status === 'waiting') return { text: `One thing: ${got[0].question}` };
  if (got[0]) return { text: `Done: ${got[0].result}` };
  const waiting = /"subAgentId":"([^"]+)"[^\n]*"status":"waiting"/.exec(request.system)?.[1];
  if (waiting) return { calls: [call('reply_to_agent', { subAgentId: waiting, content: 'euros' })] };
  return { calls: [call('create_agent', { type: 'finder', instruction: 'Find the price.' })] };
}

let rest = async () => {};

async function work({ url, strike }: Order & { type: 'work' }): Promise<void> {
  const db = new StrikingDatabase(url, strike);
  const kernel = new Kernel({ db, logger: silentLogger });
  const acts = delegationActs({ db, kernel });
  rest = async () => {
    await kernel.close();
    await db.close();
  };
  await kernel.work({
    doors: [createSessionsDoor(db), createTasksDoor(db)],
    models: createModels({ demo: createScripted(say).provider }),
    tools: { resolve: (tool) => (tool.provider === 'echo' ? (args) => args : acts(tool)) },
    graceMs: 100,
  });
}

process.on('message', async (order: Order) => {
  if (order.type === 'work') await work(order);
  else await rest();
  report({ type: 'done' });
});
process.on('disconnect', () => process.exit(1));
report({ type: 'ready' });
// By itself it would be written at the end, and most of these processes are killed.
flushCompileCache();
