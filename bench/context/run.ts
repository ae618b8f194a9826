// npm run bench:context [-- --url http://localhost:4700 --key … --model <id> --turns 2000 --facts 100 --context 16000]
// Plants facts in a long conversation and asks for them at the end. With --url it uses a running Troupe and any model that is
// configured there; without it, it starts its own server and a test double that answers only from the request.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Troupe } from '@troupe/sdk';
import { migrate, silentLogger, startEmbedded } from '@troupe/server';
import { createDatabase, openServer } from '@troupe/testing';
import { startDouble } from './double.ts';
import { addDouble } from './double-model.ts';
import { createPlan } from './facts.ts';
import { play } from './play.ts';
import { report } from './report.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    key: { type: 'string' },
    model: { type: 'string' },
    turns: { type: 'string', default: '2000' },
    facts: { type: 'string', default: '100' },
    context: { type: 'string', default: '16000' },
  },
});

const plan = createPlan(Number(values.turns), Number(values.facts));
const total = plan.turns.length + plan.facts.length;
const onTurn = (done: number) => {
  if (done % 100 === 0 || done === total) process.stderr.write(`${done}/${total} turns\n`);
};

if (values.url) {
  const troupe = new Troupe({ baseUrl: values.url, ...(values.key ? { key: values.key } : {}) });
  console.log(report(plan, await play(troupe, plan, values.model ?? null, onTurn)));
} else {
  const home = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
  const postgres = await startEmbedded({ home, logger: silentLogger });
  const double = await startDouble();
  const { url: databaseUrl } = await createDatabase(postgres.url, null);
  await migrate(databaseUrl);
  const allow = [new URL(double.url).host];
  const server = await openServer({ postgresUrl: postgres.url, databaseUrl, allow });
  try {
    const troupe = new Troupe({ baseUrl: server.url });
    const model = await addDouble(troupe, double.url, Number(values.context));
    console.log(report(plan, await play(troupe, plan, model, onTurn)));
  } finally {
    await server.close();
    await double.close();
    await postgres.stop();
    rmSync(home, { recursive: true, force: true });
  }
}
