import type { Json } from '@troupe/protocol';
import { createModels, Database, Kernel, silentLogger } from '@troupe/server';
import { createNetworksDoor, createScripted, createTools, Encryption, toolParts } from '@troupe/server/parts';
import type { Turn } from '../../src/models/scripted/turn.ts';

// A worker in a process of its own, to be killed. What its agents decide follows from what they are told and nothing else. Started
// to hold, it stops at the step that the input of a run names, and says so.

const [url, key, holds] = process.argv.slice(2);
const db = new Database({ url: url!, applicationName: 'troupe/network-worker', logger: silentLogger });
const kernel = new Kernel({ db, logger: silentLogger });
const encryption = new Encryption([{ id: 'v1', key: Buffer.from(key!, 'base64') }]);

function held(run: string): Promise<never> {
  process.send!({ held: run });
  return new Promise(() => {});
}

const call = (name: string, args: Json): Turn => ({ calls: [{ name, arguments: args }] });
const scripted = createScripted(async ({ system, messages, step, runId }): Promise<Turn> => {
  const { text } = messages[0] as { text: string };
  if (holds && text.includes(`hold at ${step},`)) await held(runId);
  const version = /of version (\d)/.exec(system)![1]!;
  const looked = messages.some(({ role }) => role === 'tool');
  const where = text.includes('in the tool') ? 'slow' : 'fast';
  if (!looked) return call('lookup', { q: where });
  return system.includes('I am front')
    ? call('route_to_agent', { agent: 'writer', context: `looked in ${version}` })
    : call('respond', { payload: { version, told: text.includes(`looked in ${version}`) } });
});
const tools = createTools(toolParts(db, encryption));
await kernel.work({
  doors: [createNetworksDoor(db, encryption)],
  models: createModels({ demo: scripted.provider }),
  tools: {
    resolve: (tool) => {
      const execute = tools.resolve(tool)!;
      return (args, context) =>
        holds && (args as { q: string }).q === 'slow' ? held(context.runId) : execute(args, context);
    },
  },
  capacity: 20,
});
process.send!('working');
process.on('disconnect', () => process.exit(1));
