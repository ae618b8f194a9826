import { type AgentSnapshot, snapshotTool } from '@troupe/protocol';
import { plainDoor } from '@troupe/testing';
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest';
import { call, codeTool, ScriptedFixture } from './fixture.ts';

let fixture: ScriptedFixture;
const asked: AgentSnapshot[] = [];
const brought = ['look', 'speak'].map((name) =>
  snapshotTool.parse({ name, provider: 'code', description: 'of the door' }),
);
beforeAll(async () => {
  fixture = await ScriptedFixture.open(inject('postgresUrl'), {
    doors: [
      plainDoor,
      {
        ...plainDoor,
        name: 'hall',
        tools: (snapshot) => {
          asked.push(snapshot);
          return brought;
        },
      },
    ],
  });
});
afterEach(() => fixture.checkInvariants());
afterAll(() => fixture.close());

it('gives runs of a door the tools it brings, which win over those of the agent', async () => {
  fixture.tools.speak = () => 'spoken';
  const snapshot = await fixture.agent([{ calls: [call('speak')] }, { text: 'done' }], {
    tools: [codeTool('speak', { description: 'of the agent' }), codeTool('own')],
  });
  const hall = { run: { door: 'hall' } };
  const { run } = await fixture.play(snapshot, hall);
  expect(fixture.requests(run)[0]!.tools.map(({ name, description }) => [name, description])).toEqual([
    ...brought.map(({ name }) => [name, 'of the door']),
    ['own', ''],
  ]);
  expect(fixture.shown(run)).toEqual({ speak: 'spoken' });

  // Asked once for a snapshot; runs of another door have the agent's tools.
  const plain = await fixture.play(snapshot);
  expect(fixture.requests(plain.run)[0]!.tools.map(({ name }) => name)).toEqual(['speak', 'own']);
  await fixture.play(snapshot, hall);
  expect(asked).toHaveLength(1);
});
