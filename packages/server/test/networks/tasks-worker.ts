import type { Json } from '@troupe/protocol';
import { createModels, Database, Kernel, silentLogger } from '@troupe/server';
import { createNetworksDoor, createScripted, createTools, Encryption, toolParts } from '@troupe/server/parts';
import type { Turn } from '../../src/models/scripted/turn.ts';

// A worker in a process of its own, to be killed. A boss gives as many tasks as its input says, and answers with what it got. Started
// with `holds`, tasks that say so never end; with `dies`, it kills itself right after the end of such a task is on disk, before
// anybody was told.

const [url, key, how] = process.argv.slice(2);
const dying = new Set<string>();
const db = new Database({ url: url!, applicationName: 'troupe/task-worker', logger: silentLogger });
const kernel = new Kernel({
  db,
  logger: silentLogger,
  probe: (boundary, when, runs) => {
    if (boundary === 'answer' && when === 'after' && runs.some((run) => dying.has(run)))
      process.kill(process.pid, 'SIGKILL');
  },
});
const encryption = new Encryption([{ id: 'v1', key: Buffer.from(key!, 'base64') }]);

const call = (name: string, args: Json) => ({ name, arguments: args });
const scripted = createScripted(async ({ system, messages, runId }): Promise<Turn> => {
  const { text } = messages[0] as { text: string };
  const got = messages.flatMap((one) => (one.role === 'tool' ? [one.output as Json] : []));
  if (system.includes('I am boss')) {
    if (got.length > 0) return { calls: [call('respond', { payload: { got } })] };
    const [, many, kind] = /give (\d+) (\w+)/.exec(text)!;
    const tasks = Array.from({ length: Number(many) }, (_, n) =>
      call('delegate_to_agent', { agent: 'worker', assignment: `${kind} ${n}` }),
    );
    return { calls: tasks };
  }
  if (how === 'holds' && text.startsWith('held')) {
    process.send!({ held: runId });
    await new Promise<never>(() => {});
  }
  if (got.length === 0) return { calls: [call('lookup', { q: text })] };
  if (how === 'dies' && text.startsWith('dying')) dying.add(runId);
  return { calls: [call('respond', { payload: text })] };
});
await kernel.work({
  doors: [createNetworksDoor(db, encryption)],
  models: createModels({ demo: scripted.provider }),
  tools: createTools(toolParts(db, encryption, { kernel })),
  capacity: 40,
});
process.send!('working');
process.on('disconnect', () => process.exit(1));
