import { capabilityEndpoints } from '@troupe/protocol';
import { getCapability, listCapabilities } from '../../definitions/capabilities/index.ts';
import type { Endpoints } from '../endpoint.ts';

export function capabilityRoutes(endpoints: Endpoints): void {
  endpoints.serve(capabilityEndpoints.list, () => ({ data: listCapabilities() }));
  endpoints.serve(capabilityEndpoints.get, ({ params }) => getCapability(params.capabilityId));
}
