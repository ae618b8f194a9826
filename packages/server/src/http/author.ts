import type { Caller } from '../access/index.ts';
import type { Author } from '../store/index.ts';

/** The caller as the audit log names them. */
export function authorOf({ project, kind, keyId, entityId, request }: Caller): Author {
  return { project, kind, id: kind === 'user' ? entityId : keyId, request };
}

/** The caller in the format of `settled_by` in the ledger. */
export function settlerOf(caller: Caller): string {
  const { kind, id } = authorOf(caller);
  return id === null ? kind : `${kind}:${id}`;
}
