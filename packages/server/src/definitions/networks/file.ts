import { createHash } from 'node:crypto';
import type { Json, JsonObject, NetworkFile } from '@troupe/protocol';
import { canonicalJson, Refusal } from '../../base/index.ts';
import type { Database } from '../../store/index.ts';
import { getVersionOfNetwork } from './versions.ts';

/** A version as a file. What it says of itself is checked when it is read. */
export async function exportNetwork(
  db: Database,
  project: string,
  network: string,
  version: number,
): Promise<NetworkFile> {
  const { checksum, definition, snapshot } = await getVersionOfNetwork(db, project, network, version);
  return {
    format: 'troupe.network/1',
    checksum,
    definitionChecksum: sumOf(definition as Json),
    definition: definition as unknown as JsonObject,
    snapshot: snapshot as unknown as JsonObject,
  };
}

/** Refuses a file of which anything was changed, or lost on the way. That it comes from whom it should, a checksum does not say. */
export function checkFile({ checksum, definitionChecksum, definition, snapshot }: NetworkFile): void {
  const wrong = [
    ...(sumOf(snapshot) === checksum.toLowerCase() ? [] : ['checksum']),
    ...(sumOf(definition) === definitionChecksum.toLowerCase() ? [] : ['definitionChecksum']),
  ];
  if (wrong.length === 0) return;
  throw new Refusal(
    'invalid',
    'checksum_wrong',
    `The file was changed after it was exported: ${wrong.join(' and ')} differ from what it holds.`,
    {
      hint: 'Export it anew. To make a network of a document that you edited, use PUT /v1/networks/{network}/definition.',
      issues: wrong.map((path) => ({ path, message: 'is not the SHA-256 of what the file holds' })),
    },
  );
}

function sumOf(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
