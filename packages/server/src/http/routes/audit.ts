import { accessEndpoints } from '@troupe/protocol';
import { listAudit } from '../../access/index.ts';
import type { Endpoints } from '../endpoint.ts';

export function auditRoutes(endpoints: Endpoints): void {
  endpoints.serve(accessEndpoints.listAudit, ({ caller, query, services }) =>
    listAudit(services.db, caller, query),
  );
}
