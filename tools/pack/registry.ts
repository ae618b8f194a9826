import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';

interface Held {
  folder: string;
  manifest: { name: string; version: string };
}

/**
 * An npm registry on this machine that has what is installed in the repository, for a test that installs without a
 * network and still has npm find out what is needed.
 */
export async function openRegistry(root: string) {
  const held = heldIn(root);
  const server = createServer((request, response) => {
    const [name, version] = decodeURIComponent(request.url!.slice(1)).split('/-/');
    const versions = held.get(name!);
    if (!versions) return void response.writeHead(404).end('{}');
    const wanted = version && versions.find(({ manifest }) => manifest.version === version);
    if (wanted) return void archive(wanted.folder).pipe(response);
    const tarball = (of: string) => `http://${request.headers.host}/${name}/-/${of}`;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        name,
        'dist-tags': { latest: versions[0]!.manifest.version },
        versions: Object.fromEntries(
          versions.map(({ manifest }) => [
            manifest.version,
            { ...manifest, dist: { tarball: tarball(manifest.version) } },
          ]),
        ),
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function heldIn(root: string): Map<string, Held[]> {
  const held = new Map<string, Held[]>();
  const folders = ['node_modules', '*/*/node_modules', 'node_modules/{*,@*/*}/node_modules'];
  const manifests = folders.flatMap((folder) => [`${folder}/*/package.json`, `${folder}/@*/*/package.json`]);
  for (const file of globSync(manifests, { cwd: root })) {
    const folder = join(root, dirname(file));
    const manifest: Held['manifest'] = JSON.parse(readFileSync(join(root, file), 'utf8'));
    const known = held.get(manifest.name) ?? [];
    held.set(manifest.name, [...known, { folder, manifest }]);
  }
  // Ours come from the tarballs, or the test would not notice what they lack.
  for (const name of held.keys()) if (/^(@troupe\/|troupe$)/.test(name)) held.delete(name);
  return held;
}

function archive(folder: string) {
  const name = basename(folder);
  const tar = spawn('tar', ['-c', `--exclude=${name}/node_modules`, name], { cwd: dirname(folder) });
  return tar.stdout;
}
