import { fileEndpoints, findingEndpoints, todoEndpoints } from '@troupe/protocol';
import {
  deleteFiles,
  getFindings,
  getTodos,
  listFiles,
  readFile,
  writeFile,
} from '../../doors/sessions/index.ts';
import type { Endpoints } from '../endpoint.ts';
import { presentFile } from '../present/file.ts';

export function fileRoutes(endpoints: Endpoints): void {
  endpoints.serve(fileEndpoints.list, async ({ services, caller, params, query }) => {
    const { data, totals } = await listFiles(services, caller, params, query.path);
    return { data: data.map(presentFile), totals };
  });
  endpoints.serve(fileEndpoints.remove, async ({ services, caller, params, query }) => {
    const { path, recursive } = query;
    await deleteFiles(services, caller, params, { path, recursive: recursive === 'true' });
    return undefined;
  });
  endpoints.serve(fileEndpoints.read, async ({ services, caller, params, query, context }) => {
    const { path, content, type } = await readFile(services, caller, params, query.path);
    // Agents write these: no browser may take one for a page of ours, whatever it says it is.
    return context.body(Uint8Array.from(content), 200, {
      'content-type': type,
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(path.slice(path.lastIndexOf('/') + 1)).replaceAll("'", '%27')}`,
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-store',
    });
  });
  endpoints.serve(fileEndpoints.write, async ({ services, caller, params, query, body }) =>
    presentFile(await writeFile(services, caller, params, query.path, body as Uint8Array)),
  );
  endpoints.serve(todoEndpoints.get, async ({ services, caller, params }) => {
    const { todos, updatedAt } = await getTodos(services, caller, params);
    return { todos, updatedAt: updatedAt?.toISOString() ?? null };
  });
  endpoints.serve(findingEndpoints.list, async ({ services, caller, params }) => ({
    findings: await getFindings(services, caller, params),
  }));
}
