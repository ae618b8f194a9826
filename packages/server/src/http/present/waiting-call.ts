import type { WaitingCall } from '@troupe/protocol';
import { argumentsHash } from '../../runs/index.ts';
import type { WaitingRow } from '../../store/index.ts';

export function presentWaitingCall(row: WaitingRow): WaitingCall {
  return {
    ...row,
    argumentsHash: argumentsHash(row.arguments),
    deadline: row.deadline?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}
