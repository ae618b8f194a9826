import type { WaitingCall } from '@troupe/protocol';
import { pause, type Requester } from './requester.ts';

const LOOK_MS = 400;

/** People and programs who settle what waits for them: approvals, calls of client tools, calls in doubt, questions. */
export class Inbox {
  readonly #requester: Requester;
  readonly #loop: Promise<void>;
  #closed = false;

  constructor(requester: Requester) {
    this.#requester = requester;
    this.#loop = this.#run();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { client } = this.#requester;
    while (!this.#closed) {
      for (const waitsFor of ['approval', 'person', 'client', 'answer'] as const) {
        const page = await client.inbox.list({ query: { waitsFor, limit: 100 } }).catch(() => null);
        await Promise.all((page?.data ?? []).map((call) => this.#settle(call).catch(() => {})));
      }
      await pause(LOOK_MS);
    }
  }

  /** Failures are not retried here: the call is still in the inbox at the next look. */
  async #settle({ runId, callId, waitsFor, taskId, argumentsHash }: WaitingCall): Promise<unknown> {
    const { client, random } = this.#requester;
    const params = { runId, callId };
    if (waitsFor === 'client')
      return client.inbox.results({ params: { runId }, body: { callId, result: { settled: callId } } });
    if (waitsFor === 'answer')
      return client.tasks.answer({ params: { taskId: taskId! }, body: { answer: 'The first.' } });
    if (waitsFor === 'person')
      return client.inbox.decide({ params, body: { decision: 'complete', output: 'seen' } });
    return client.inbox.decide({
      params,
      body: random.chance(0.8)
        ? { decision: 'approve', argumentsHash }
        : { decision: 'reject', reason: 'No.' },
    });
  }
}
