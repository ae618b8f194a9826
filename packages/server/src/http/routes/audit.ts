import { accessEndpoints } from '@troupe/protocol';
import { listAudit } from '../../access/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentAuditEntry } from '../present/access.ts';
import { presentPage } from '../present/page.ts';

export function auditRoutes(endpoints: Endpoints): void {
  endpoints.serve(accessEndpoints.listAudit, async ({ caller, query, services }) =>
    presentPage(await listAudit(services.db, caller, query), presentAuditEntry),
  );
}
