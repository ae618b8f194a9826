/**
 * access: who may do what. Keys, tokens of people, rights, secrets, the audit log.
 * Imports: store, base, protocol; `jose`.
 * Start reading: caller.ts (who asks), access.ts (how they are known), envelope.ts (how secrets are kept).
 */
export { Access } from './access.ts';
export { listAudit } from './audit.ts';
export { authorize, type Caller } from './caller.ts';
export { deleteClient, listClients, registerClient, touchClient } from './clients.ts';
export { Encryption, type EncryptionKey } from './envelope.ts';
export { secretToSend, webhookKeys } from './secrets.ts';
