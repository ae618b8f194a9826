import type { File } from '@troupe/protocol';
import type { FileRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentFile({ path, size, type, createdAt, updatedAt }: FileRow): File {
  return isoTimes({ path, size, type, createdAt, updatedAt });
}
