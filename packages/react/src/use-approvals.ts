import { type Api, ConflictError, type Troupe } from '@troupe/sdk';
import { errorOf } from './followed-store.ts';
import { hintOf } from './hints.ts';
import { ListStore } from './list-store.ts';
import { useTroupe } from './provider.tsx';
import type { Approval, ApprovalsResult } from './results.ts';
import { sharedOf, useShared } from './shared.ts';

export interface ApprovalsFilter {
  /** Default: `approval`, `person` and `answer`. */
  waitsFor?: 'client' | 'approval' | 'person' | 'answer' | 'task' | undefined;
  agentId?: string | undefined;
  sessionId?: string | undefined;
  runId?: string | undefined;
  /** How many a page has. Default: 50. */
  limit?: number | undefined;
}

type Meant = Pick<Api.WaitingCall, 'runId' | 'callId'>;
type Doing = Exclude<keyof ApprovalsResult, 'items' | 'hasMore' | 'isLoading' | 'error'>;

const nameOf = ({ runId, callId }: Meant) => `${runId} ${callId}`;

class Approvals extends ListStore<Approval> {
  /** What was decided here and is not in the list yet. */
  readonly #decided = new Map<string, Pick<Approval, 'deciding' | 'failure'>>();
  readonly #shown = new WeakMap<Approval, Approval>();
  readonly actions: Pick<ApprovalsResult, Doing>;

  constructor(troupe: Troupe, { limit = 50, ...filter }: ApprovalsFilter) {
    super(troupe, {
      noun: 'inbox',
      ask: (page) => troupe.inbox.list({ query: { ...filter, ...page } }),
      pageSize: limit,
      nameOf,
    });
    const { inbox } = troupe;
    this.actions = {
      ...this.listing,
      approve: (call, options) => this.#decide(call, 'approve', () => inbox.approve(call, options)),
      reject: (call, reason) => this.#decide(call, 'reject', () => inbox.reject(call, reason)),
      retry: (call) => this.#decide(call, 'retry', () => inbox.retry(call)),
      complete: (call, output) => this.#decide(call, 'complete', () => inbox.complete(call, output)),
      fail: (call, reason) => this.#decide(call, 'fail', () => inbox.fail(call, reason)),
      answer: (call, result) => {
        const { runId, callId, taskId = null, waitsFor } = call;
        const send = () =>
          waitsFor === 'answer'
            ? inbox.answer({ taskId, callId }, String(result))
            : inbox.results({ params: { runId }, body: { callId, result } });
        return this.#decide(call, 'answer', send);
      },
    };
  }

  protected override shown(items: readonly Approval[]): readonly Approval[] {
    if (this.#decided.size === 0) return items;
    const names = new Set(items.map(nameOf));
    for (const [name, { deciding }] of this.#decided)
      if (!deciding && !names.has(name)) this.#decided.delete(name);
    return items.map((item) => {
      const decided = this.#decided.get(nameOf(item));
      if (!decided) return item;
      const known = this.#shown.get(item);
      if (known?.deciding === decided.deciding && known?.failure === decided.failure) return known!;
      const now = { ...item, ...decided };
      this.#shown.set(item, now);
      return now;
    });
  }

  async #decide(
    call: Meant,
    deciding: NonNullable<Approval['deciding']>,
    send: () => Promise<unknown>,
  ): Promise<void> {
    const name = nameOf(call);
    // Twice clicked is once decided.
    if (this.#decided.get(name)?.deciding) return;
    this.#decided.set(name, { deciding });
    this.showAgain();
    try {
      await send();
    } catch (thrown) {
      const failure = errorOf(thrown)!;
      this.#decided.set(name, { failure });
      this.showAgain();
      // Somebody else was first, or what is shown is not what waits.
      if (thrown instanceof ConflictError) void this.refresh().catch(() => {});
      throw failure;
    }
    // Marked until it is read that it waits no longer: a list that was asked for before still has it.
    await this.refresh().catch(() => this.drop(name));
    this.#decided.delete(name);
    this.showAgain();
    hintOf(this.troupe, ['inbox']);
  }
}

/** Calls that wait for somebody, and what can be said about them. What is decided shows at once, and is taken back where it is refused. */
export function useApprovals(filter: ApprovalsFilter = {}): ApprovalsResult {
  const troupe = useTroupe();
  const store = sharedOf(troupe, `inbox ${JSON.stringify(filter)}`, () => new Approvals(troupe, filter));
  return useShared(store, store.actions);
}
