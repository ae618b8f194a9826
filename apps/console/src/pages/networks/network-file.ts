import type { Api } from '@troupe/sdk';
import type { troupe } from '../../data/client.ts';

type Body = Parameters<typeof troupe.networks.create>[0]['body'];
type NetworkText =
  | { kind: 'export'; file: Api.NetworkFile }
  /** Not checked: the server says what is wrong with it. */
  | { kind: 'definition'; definition: Body };

/** An export of a version, or a document that somebody wrote, in JSON or YAML. */
export async function readNetworkFile(text: string): Promise<NetworkText> {
  const { parse } = await import('yaml');
  const value: unknown = parse(text);
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new Error('it holds no network.');
  return 'format' in value && 'snapshot' in value
    ? { kind: 'export', file: value as Api.NetworkFile }
    : { kind: 'definition', definition: value as Body };
}
