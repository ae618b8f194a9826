import { agentSnapshot } from '@troupe/protocol';
import type { Database } from '@troupe/server';
import {
  createNetworksDoor,
  createSessionsDoor,
  createSpacesDoor,
  createTasksDoor,
} from '@troupe/server/parts';
import { expect, test } from 'vitest';
import { builtInOwner } from '../../src/definitions/capabilities/index.ts';

test('reserves the name of every tool that a door gives to all agents', () => {
  const db = null as unknown as Database;
  const models = [{ provider: 'demo', model: 'demo' }];
  const snapshot = agentSnapshot.parse({ kind: 'agent', name: 'a', models, replyWaiting: true });
  const network = { ...snapshot, network: { agents: [], policy: {} } };
  const names = [
    ...[createSessionsDoor(db), createSpacesDoor(db), createTasksDoor(db)].flatMap(
      (door) => door.tools?.(snapshot) ?? [],
    ),
    ...createNetworksDoor(db, { open: () => '' }).tools!(network),
  ].map(({ name }) => name);
  expect(names).toContain('send_message');
  expect(names).toContain('final_answer');
  expect(names.filter((name) => builtInOwner(name) === undefined)).toEqual([]);
  expect(builtInOwner('add')).toBeUndefined();
});
