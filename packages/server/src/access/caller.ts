import type { Endpoint, Scope } from '@troupe/protocol';
import { Refusal } from '../base/index.ts';
import type { KeyedRequest } from '../store/index.ts';

/** Who asks. Every read and every write is done for one of these, within its project. */
export interface Caller {
  project: string;
  kind: 'key' | 'user' | 'dev';
  /** The key, where there is one. */
  keyId: string | null;
  /** The person, where a token names one: then only what belongs to them can be reached. */
  entityId: string | null;
  /** Null: everything. */
  scopes: readonly Scope[] | null;
  /** What is asked, if the request carries an Idempotency-Key. */
  request?: KeyedRequest | undefined;
}

/** Throws where the caller may not call the endpoint at all; what they may reach through it is decided by the room. */
export function authorize(caller: Caller, endpoint: Pick<Endpoint, 'scope' | 'user'>): void {
  if (caller.kind === 'user' && !endpoint.user) {
    throw new Refusal('forbidden', 'forbidden', 'A token of a person does not allow this.', {
      hint: 'Use a secret key, from a server.',
    });
  }
  if (endpoint.scope !== null && caller.scopes !== null && !caller.scopes.includes(endpoint.scope)) {
    throw new Refusal('forbidden', 'forbidden', `This key has no scope "${endpoint.scope}".`, {
      hint: 'Make a key that has it, or one without scopes.',
    });
  }
}
