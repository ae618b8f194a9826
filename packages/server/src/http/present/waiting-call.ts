import type { WaitingCall } from '@troupe/protocol';
import { argumentsHash } from '../../runs/index.ts';
import type { WaitingRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentWaitingCall(row: WaitingRow): WaitingCall {
  return { ...isoTimes(row), argumentsHash: argumentsHash(row.arguments) };
}
