import type { CelEnv } from '@bufbuild/cel';
import { lazy, once } from '../base/index.ts';

export const cel = lazy<typeof import('@bufbuild/cel')>('@bufbuild/cel');

export const environment: () => CelEnv = once(() => {
  // The first parse compiles the parser, which must not count against the time limit of a condition.
  cel().parse('true');
  return cel().celEnv();
});
