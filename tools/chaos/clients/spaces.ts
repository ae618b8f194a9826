import { newId } from '@troupe/sdk';
import { said } from '../doubles/brain.ts';
import type { Definitions } from './definitions.ts';
import { runsEnded } from './ended.ts';
import type { Readers } from './reader.ts';
import type { Requester } from './requester.ts';
import type { Slots } from './slots.ts';

const SCRIPTS = ['', '', 'idem', 'once', 'idem;once'];

/** People and agents in spaces: each message starts a run of every agent there. */
export async function converse(
  requester: Requester,
  { members }: Definitions,
  readers: Readers,
  { inFlight }: { inFlight: Slots },
): Promise<void> {
  const { client, random } = requester;
  while (!requester.stopped) {
    const label = newId();
    const people = Array.from({ length: random.int(2, 4) }, () => `person-${random.int(0, 9)}`);
    const agents = random.shuffle([...members]).slice(0, random.int(1, 3));
    const body = {
      policy: random.pick(['all', 'humans', 'humans'] as const),
      members: [
        ...[...new Set(people)].map((user) => ({ user })),
        ...agents.map((agentId) => ({ agentId, ordering: random.pick(['parallel', 'serial'] as const) })),
      ],
      metadata: { label },
    };
    const space = await requester.make(
      { door: 'spaces', made: 'space', label },
      (options) => client.spaces.create({ body }, options),
      ({ id }) => ({ id }),
    );
    if (!space) return;
    if (random.chance(0.5)) readers.follow({ spaceId: space.id });
    for (let turn = random.int(3, 8); turn > 0 && !requester.stopped; turn--) {
      const release = await inFlight.take();
      try {
        const posts = await Promise.all(
          Array.from({ length: random.int(1, 2) }, () => post(requester, space.id, random.pick(people))),
        );
        await runsEnded(
          requester,
          posts.flatMap((posted) => posted?.runs.map(({ id }) => id) ?? []),
        );
      } finally {
        release();
      }
    }
  }
}

function post(requester: Requester, spaceId: string, user: string) {
  const { random } = requester;
  const label = newId();
  const id = random.chance(0.5) ? { id: newId() } : {};
  const body = { ...id, user, content: { text: said(label, random.pick(SCRIPTS)) } };
  return requester.make(
    { door: 'spaces', made: 'space_message', label, thread: spaceId },
    (options) => requester.client.spaces.post({ params: { spaceId }, body }, options),
    // A message that was folded is for a run that answers another one.
    ({ id, runs }) => ({
      id,
      runs: runs.flatMap((run) => (run.outcome === 'started' ? [run.id] : [])),
    }),
  );
}
