import { type Collection, type SyncSchema, syncSchemas } from '@troupe/protocol';
import { Troupe } from './client.ts';
import type { Replication, ReplicationOptions } from './replication.ts';
import type { TroupeOptions } from './transport.ts';

export type TroupeReplicationOptions = ReplicationOptions &
  ({ client: Troupe } | (TroupeOptions & { client?: undefined }));

/**
 * What `replicateRxCollection` takes, beside the collection:
 * `replicateRxCollection({ collection: db.tasks, ...troupeReplication('tasks', { baseUrl, key, token }) })`.
 */
export function troupeReplication<Of extends Collection>(
  collection: Of,
  options: TroupeReplicationOptions = {},
): Replication<Of> {
  const client = options.client ?? new Troupe(options as TroupeOptions);
  return client.replication(collection, options);
}

/** The schemas of all collections, as `GET /v1/sync/schema` serves them; known without a request, for an app that starts offline. */
export function troupeSchemas(): Record<Collection, SyncSchema> {
  return syncSchemas();
}

/** What `addCollections` takes, for these. */
export function troupeCollections<Name extends Collection>(
  ...names: Name[]
): Record<Name, { schema: SyncSchema }> {
  const schemas = syncSchemas();
  return Object.fromEntries(names.map((name) => [name, { schema: schemas[name] }])) as Record<
    Name,
    { schema: SyncSchema }
  >;
}
