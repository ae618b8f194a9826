import { agentDefinition } from '@troupe/protocol';
import { createModels } from '@troupe/server';
import { createDemo, createTools } from '@troupe/server/parts';
import { openKernel, plainDoor } from '@troupe/testing';
import { expect, inject, test } from 'vitest';
import { createAgent, snapshotFor } from '../../src/definitions/agents/index.ts';

test('an agent that carries the clock tells the time, with nothing set up', async () => {
  const demo = createDemo();
  const now = () => new Date('2026-07-01T12:00:00Z');
  const fixture = await openKernel({
    postgresUrl: inject('postgresUrl'),
    work: { doors: [plainDoor], models: createModels({ demo: () => demo }), tools: createTools({ now }) },
  });
  const { project } = fixture.ids;
  const author = { project, kind: 'dev' as const, id: null };
  const definition = agentDefinition.parse({ name: 'clock', capabilities: [{ id: 'current_time' }] });
  const agent = await createAgent(fixture.db, author, definition);
  const { snapshotId, entityId } = await snapshotFor(fixture.db, {
    project,
    agentId: agent.id,
    modelIds: [],
  });
  const run = { agent: agent.id, entity: entityId };
  const ended = await fixture.play(snapshotId, { text: 'What time is it in Europe/Berlin?', run });
  expect(ended).toMatchObject({
    status: 'completed',
    outcome: { text: expect.stringContaining('14:00:00') },
  });
  expect(await fixture.calls(ended.run)).toMatchObject([
    {
      tool: 'current_time',
      effect: 'pure',
      status: 'completed',
      output: { iso: '2026-07-01T14:00:00+02:00', timezone: 'Europe/Berlin' },
    },
  ]);
  await fixture.close();
});
