import { useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useCallback } from 'react';
import { troupe } from '../../data/client.ts';

type Meant = Pick<Api.WaitingCall, 'runId' | 'callId'>;

/** What settles calls; each rejects where the server refuses it. */
export function useSettling() {
  const client = useQueryClient();
  const after = useCallback(async () => {
    await client.invalidateQueries({ queryKey: ['inbox'] });
    void client.invalidateQueries({ queryKey: ['tasks'] });
    void client.invalidateQueries({ queryKey: ['deliveries'] });
  }, [client]);
  const decide = useCallback(
    async ({ runId, callId }: Meant, body: Api.CallDecision) => {
      await troupe.inbox.decide({ params: { runId, callId }, body }).finally(after);
    },
    [after],
  );
  const answer = useCallback(
    async ({ runId, callId }: Meant, result: Api.Json) => {
      await troupe.inbox.results({ params: { runId }, body: { callId, result } }).finally(after);
    },
    [after],
  );
  const fail = useCallback(
    async ({ runId, callId }: Meant, message: string, code = 'tool_error') => {
      const error = { code, message };
      await troupe.inbox.results({ params: { runId }, body: { callId, error } }).finally(after);
    },
    [after],
  );
  const redeliver = useCallback(
    async (deliveryId: string) => {
      await troupe.triggers.redeliver({ params: { deliveryId } }).finally(after);
    },
    [after],
  );
  return { decide, answer, fail, redeliver };
}
