import { type Api, ApiError, type Troupe } from '@troupe/sdk';
import { errorOf } from './followed-store.ts';
import { hintOf } from './hints.ts';
import { useTroupe } from './provider.tsx';
import type { ToolResultResult } from './results.ts';
import { Shared, sharedOf, useShared } from './shared.ts';

type State = Pick<ToolResultResult, 'state' | 'error'>;
type Body = NonNullable<Parameters<Troupe['inbox']['results']>[0]['body']>;

class ToolResult extends Shared<State> {
  readonly actions: Pick<ToolResultResult, 'submit' | 'fail'>;
  readonly #settle: (body: Body) => Promise<unknown>;

  constructor(troupe: Troupe, { runId, callId }: { runId: string; callId: string }) {
    super({ state: 'open', error: null });
    this.#settle = async (body) => {
      await troupe.inbox.results({ params: { runId }, body });
      hintOf(troupe, ['inbox']);
    };
    this.actions = {
      submit: (output: Api.Json) => this.#submit({ callId, result: output }),
      fail: (message: string, code?: string) =>
        this.#submit({ callId, error: { message, ...(code ? { code } : {}) } }),
    };
  }

  async #submit(body: Body): Promise<void> {
    // Twice clicked is once answered.
    if (this.state.state === 'submitting' || this.state.state === 'settled') return;
    this.change({ state: 'submitting', error: null });
    try {
      await this.#settle(body);
      this.change({ state: 'settled' });
    } catch (thrown) {
      const error = errorOf(thrown);
      const isOver = thrown instanceof ApiError && thrown.code === 'call_not_open';
      this.change({ state: isOver ? 'settled' : 'failed', error });
      throw error;
    }
  }

  protected open(): void {}
  protected close(): void {}
  protected override get isNeeded(): boolean {
    return this.state.state === 'submitting';
  }
}

/** For a component that answers a call of a client tool, or of a tool with a UI. */
export function useToolResult({ runId, callId }: { runId: string; callId: string }): ToolResultResult {
  const troupe = useTroupe();
  const name = `result ${runId} ${callId}`;
  const store = sharedOf(troupe, name, () => new ToolResult(troupe, { runId, callId }));
  return useShared(store, store.actions);
}
