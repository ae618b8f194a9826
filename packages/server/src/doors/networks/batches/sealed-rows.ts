import type { JsonObject } from '@troupe/protocol';
import type { NewSealedRows } from '../../../store/index.ts';
import { type Sealer, sealed } from '../start-item.ts';

/** Rows of one envelope: sealing each by itself would take most of the time of a large batch. */
const ROWS = 100;

/** What the system parameters of a batch, or of some of its rows, are sealed under. */
export function batchSealedName(batch: string, group?: number): string {
  return group === undefined ? `batch ${batch}` : `batch ${batch} rows ${group}`;
}

/** In which envelope those of a row are; rows count from 1. */
export function groupOf(row: number): number {
  return Math.ceil(row / ROWS);
}

/** `params`: those of each row that has any, by its number. */
export function sealRows(
  sealer: Sealer | null,
  project: string,
  batch: string,
  params: ReadonlyMap<number, JsonObject>,
): NewSealedRows[] {
  const groups = new Map<number, JsonObject>();
  for (const [row, given] of params) {
    const group = groups.get(groupOf(row)) ?? {};
    groups.set(groupOf(row), Object.assign(group, { [row]: given }));
  }
  return [...groups].map(([group, rows]) => ({
    group,
    sealed: sealed(sealer, project, batchSealedName(batch, group), rows)!,
  }));
}
