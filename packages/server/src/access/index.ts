/**
 * access: who may do what. Keys, tokens of people, rights, secrets, the audit log.
 * Imports: store, base, protocol.
 * Start reading: caller.ts (who asks).
 */
export { authorize, type Caller } from './caller.ts';
