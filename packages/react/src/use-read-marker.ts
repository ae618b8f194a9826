import type { ReadMarkerResult } from './results.ts';

/** How far one has read in a space. */
export function useReadMarker(
  _spaceId: string,
  _options: { as?: string | undefined } = {},
): ReadMarkerResult {
  throw new Error('not yet');
}
