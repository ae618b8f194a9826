import { newId, type Troupe } from '@troupe/sdk';
import { said } from '../doubles/brain.ts';
import type { Definitions } from './definitions.ts';
import type { Readers } from './reader.ts';
import { pause, type Requester } from './requester.ts';
import type { Slots } from './slots.ts';

const SCRIPTS = [
  '',
  '',
  'idem',
  'once',
  'once,idem',
  'pure;once',
  'idem;idem,pure',
  'approved',
  'client',
  'client,idem',
  'task',
  'later',
  'asking',
];

/** One user who talks with agents: opens sessions, posts messages with every policy, cancels, retries, forks, renames. */
export async function talk(
  requester: Requester,
  definitions: Definitions,
  readers: Readers,
  options: { user: string; inFlight: Slots },
): Promise<void> {
  const { client, random, history } = requester;
  while (!requester.stopped) {
    const agentId = random.pick(definitions.talkers);
    const session = await open(requester, agentId, options.user);
    if (!session) return;
    if (random.chance(0.3)) readers.follow({ agentId, sessionId: session.id });
    const turns = random.int(2, 5);
    let lastRun: string | null = null;
    for (let turn = 0; turn < turns && !requester.stopped; turn++) {
      const posts = random.chance(0.3) ? random.int(2, 3) : 1;
      const release = await options.inFlight.take();
      try {
        const posted = await Promise.all(
          Array.from({ length: posts }, () => post(requester, agentId, session.id, random.pick(SCRIPTS))),
        );
        lastRun = posted.flatMap((one) => one?.run?.id ?? [])[0] ?? lastRun;
        const whim = random.next();
        if (whim < 0.06) {
          history.disturbed.add(session.id);
          await requester.insist(() =>
            client.sessions.cancel({ params: { agentId, sessionId: session.id } }),
          );
        } else if (whim < 0.16) await rename(requester, agentId, session.id);
        await settled(requester, client, agentId, session.id);
      } finally {
        release();
      }
    }
    if (lastRun && random.chance(0.15)) await fork(requester, agentId, session.id);
  }
}

async function open(requester: Requester, agentId: string, user: string) {
  const label = newId();
  const policy = requester.random.pick(['queue', 'steer', 'interrupt', 'queue'] as const);
  const session = await requester.make(
    { door: 'sessions', made: 'session', label },
    (options) =>
      requester.client.sessions.create(
        { params: { agentId }, body: { user, policy, metadata: { label } } },
        options,
      ),
    ({ id }) => ({ id }),
  );
  return session;
}

export async function post(requester: Requester, agentId: string, sessionId: string, script: string) {
  const { random, history } = requester;
  const label = newId();
  const policy = random.pick([undefined, undefined, 'queue', 'steer', 'interrupt', 'reject'] as const);
  if (policy === 'interrupt') history.disturbed.add(sessionId);
  // With an id of its own the message is deduplicated by that, without one by the Idempotency-Key alone.
  const id = random.chance(0.5) ? { id: newId() } : {};
  const body = { ...id, content: { text: said(label, script) }, ...(policy ? { policy } : {}) };
  return requester.make(
    { door: 'sessions', made: 'message', label, thread: sessionId, ...(policy ? { policy } : {}) },
    (options) => requester.client.sessions.postMessage({ params: { agentId, sessionId }, body }, options),
    (posted) => ({ id: posted.id, ...(posted.run ? { runs: [posted.run.id] } : {}) }),
  );
}

async function rename(requester: Requester, agentId: string, sessionId: string): Promise<void> {
  const titles = requester.history.titles.get(sessionId) ?? [];
  const title = `title ${titles.length + 1}`;
  const params = { agentId, sessionId };
  if (await requester.insist(() => requester.client.sessions.update({ params, body: { title } })))
    requester.history.titles.set(sessionId, [...titles, title]);
}

/** Waits until the session is idle; one that failed is retried, as a person would. */
async function settled(
  requester: Requester,
  client: Troupe,
  agentId: string,
  sessionId: string,
): Promise<void> {
  const params = { agentId, sessionId };
  for (let looks = 0; ; looks++) {
    const session = await requester.insist(() => client.sessions.get({ params }));
    if (!session || session.status === 'pending') return;
    if (session.status === 'failed') {
      requester.history.disturbed.add(sessionId);
      await requester.insist(() => client.sessions.retry({ params, body: {} }));
    }
    if (looks > 600) return;
    await pause(Math.min(100 + looks * 50, 1_000));
  }
}

async function fork(requester: Requester, agentId: string, sessionId: string): Promise<void> {
  const { client } = requester;
  const params = { agentId, sessionId };
  const list = await requester.insist(() => client.sessions.listMessages({ params, query: { limit: 100 } }));
  const answers = list?.data.filter(({ role }) => role === 'assistant') ?? [];
  const messageId = answers.at(-1)?.id;
  if (!messageId) return;
  const label = newId();
  const forked = await requester.make(
    { door: 'sessions', made: 'fork', label },
    (options) => client.sessions.fork({ params, body: { messageId, title: label } }, options),
    ({ id }) => ({ id }),
  );
  if (!forked || requester.stopped) return;
  await post(requester, agentId, forked.id, 'idem');
  await settled(requester, client, agentId, forked.id);
}
