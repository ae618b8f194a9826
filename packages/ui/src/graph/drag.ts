import type { Dropped } from './types.ts';

const TYPE = 'application/x-troupe-';

/** To be called when dragging begins of something that can be dropped on a graph. */
export function dragData(transfer: DataTransfer, kind: Dropped['kind'], name: string): void {
  transfer.setData(`${TYPE}${kind}`, name);
  transfer.effectAllowed = 'copy';
}

export function isDroppable(transfer: DataTransfer): boolean {
  return transfer.types.some((type) => type === `${TYPE}agent` || type === `${TYPE}tool`);
}

export function droppedData(transfer: DataTransfer): Pick<Dropped, 'kind' | 'name'> | null {
  for (const kind of ['agent', 'tool'] as const) {
    const name = transfer.getData(`${TYPE}${kind}`);
    if (name) return { kind, name };
  }
  return null;
}
