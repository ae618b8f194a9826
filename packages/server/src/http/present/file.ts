import type { File } from '@troupe/protocol';
import type { FileRow } from '../../store/index.ts';

export function presentFile({ path, size, type, createdAt, updatedAt }: FileRow): File {
  return { path, size, type, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}
