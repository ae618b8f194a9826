import { newId } from '@troupe/sdk';
import type { Definitions } from './definitions.ts';
import { asked, runsEnded } from './ended.ts';
import { pause, type Requester } from './requester.ts';
import type { Slots } from './slots.ts';

// Work that begins outside of a conversation: tasks of an orchestrator, plans, runs of services.

/** Gives tasks to an agent from outside; some of them ask a question. */
export async function giveTasks(
  requester: Requester,
  { talkers }: Definitions,
  { inFlight, user }: { inFlight: Slots; user: string },
): Promise<void> {
  const { client, random } = requester;
  const chat = await requester.insist(() =>
    client.sessions.create({ params: { agentId: talkers[0]! }, body: { user } }),
  );
  while (chat && !requester.stopped) {
    const release = await inFlight.take();
    try {
      const label = newId();
      const id = random.chance(0.5) ? { id: newId() } : {};
      const instruction = `[t:${label}] ${random.chance(0.3) ? 'ask' : 'work'}`;
      const task = await requester.make(
        { door: 'tasks', made: 'task', label },
        (options) =>
          client.tasks.create(
            { body: { ...id, chat: chat.id, type: 'agent', name: 'helper', instruction } },
            options,
          ),
        (made) => ({ id: made.id }),
      );
      if (!task) continue;
      if (random.chance(0.05))
        await requester.insist(() => client.tasks.cancel({ params: { taskId: task.id } }));
      await asked(async () => {
        const now = await requester.insist(() => client.tasks.get({ params: { taskId: task.id } }));
        return !now || ['success', 'failed', 'canceled'].includes(now.status);
      });
    } finally {
      release();
    }
  }
}

/** Plans runs for a few seconds later and waits until they have begun. */
export async function plan(requester: Requester, { members }: Definitions): Promise<void> {
  const { client, random } = requester;
  while (!requester.stopped) {
    const label = newId();
    const agentId = random.pick(members);
    // From the clock of the client, when the request is sent for the first time: the same in every try.
    const scheduledAt = new Date(Date.now() + random.int(15_000, 25_000)).toISOString();
    const soon = random.chance(0.7) ? { runAfter: `${random.int(1, 4)} seconds` } : { scheduledAt };
    const made = await requester.make(
      { door: 'plans', made: 'plan', label },
      (options) =>
        client.plans.create(
          { params: { agentId }, body: { name: label, instruction: 'Begin.', ...soon } },
          options,
        ),
      ({ id }) => ({ id }),
    );
    if (!made) {
      await pause(500);
      continue;
    }
    await asked(async () => {
      if (requester.stopped) return true; // the checker waits for it
      const now = await requester.insist(() => client.plans.get({ params: { agentId, planId: made.id } }));
      return now?.status !== 'pending';
    });
  }
}

/** Runs of agents that another system starts. */
export async function serve(
  requester: Requester,
  { members }: Definitions,
  { inFlight }: { inFlight: Slots },
): Promise<void> {
  const { client, random } = requester;
  while (!requester.stopped) {
    const release = await inFlight.take();
    try {
      const label = newId();
      const agentId = random.pick(members);
      const body = { serviceName: 'shop', payload: { label } };
      const started = await requester.make(
        { door: 'services', made: 'service_run', label },
        (options) => client.services.trigger({ params: { agentId }, body }, options),
        ({ runId }) => ({ id: runId, runs: [runId] }),
      );
      if (started) await runsEnded(requester, [started.runId]);
    } finally {
      release();
    }
  }
}
