import { batchEndpoints, type Endpoint } from '@troupe/protocol';
import { z } from 'zod';
import { type IdRange, readPage, readPageById } from '../../base/index.ts';
import {
  batchResults,
  cancelBatch,
  createBatch,
  deleteBatch,
  getBatch,
  listBatches,
  listBatchItems,
  resumeBatch,
} from '../../doors/networks/index.ts';
import { authorOf } from '../author.ts';
import type { Call, Endpoints } from '../endpoint.ts';
import { presentBatch, presentBatchItem } from '../present/batch.ts';
import { presentPage } from '../present/page.ts';

const count = z.int().min(0).max(2_147_483_647);
const itemPosition = z.object({ row: count, iteration: count });

const TYPES = { csv: 'text/csv; charset=utf-8; header=present', jsonl: 'application/x-ndjson' };

/** The batch that was created or resumed, as it is now. */
async function again({ services, caller }: Call<Endpoint>, { target }: { target: string }) {
  return presentBatch(await getBatch(services, caller.project, target));
}

export function batchRoutes(endpoints: Endpoints): void {
  endpoints.serve(
    batchEndpoints.create,
    async ({ services, caller, params, body, id }) =>
      presentBatch(await createBatch(services, caller.project, params.network, { ...body, id })),
    { again },
  );
  endpoints.serve(batchEndpoints.list, async ({ services, caller, params, query }) => {
    const list = (range: IdRange) => listBatches(services, caller.project, params.network, range);
    return presentPage(await readPageById(query, list), presentBatch);
  });
  endpoints.serve(batchEndpoints.get, async ({ services, caller, params }) =>
    presentBatch(await getBatch(services, caller.project, params.batchId)),
  );
  endpoints.serve(batchEndpoints.items, async ({ services, caller, params, query }) => {
    const { status } = query;
    const page = await readPage(query, {
      position: itemPosition,
      read: (after, limit) =>
        listBatchItems(services, caller.project, params.batchId, { status, after, limit }),
      positionOf: ({ row, iteration }) => ({ row, iteration }),
    });
    return presentPage(page, presentBatchItem);
  });
  endpoints.serve(batchEndpoints.results, async ({ services, caller, params, query }) => {
    const { format } = query;
    const text = await batchResults(services.db, caller.project, params.batchId, format);
    // Models write these: no browser may take one for a page of ours.
    return new Response(text, {
      headers: {
        'content-type': TYPES[format],
        'content-disposition': `attachment; filename="batch-${params.batchId}.${format}"`,
        'content-security-policy': "default-src 'none'; sandbox",
        'cache-control': 'private, no-store',
      },
    });
  });
  endpoints.serve(batchEndpoints.cancel, async ({ services, caller, params }) =>
    presentBatch(await cancelBatch(services, caller.project, params.batchId)),
  );
  endpoints.serve(
    batchEndpoints.resume,
    async ({ services, caller, params, body }) =>
      presentBatch(await resumeBatch(services, caller, params.batchId, body)),
    { again },
  );
  endpoints.serve(batchEndpoints.remove, async ({ services, caller, params }) => {
    await deleteBatch(services.db, authorOf(caller), params.batchId);
    return undefined;
  });
}
