import type { SnapshotModel } from '@troupe/protocol';
import type { UsableModelRow } from '../../store/index.ts';

/** As parts of the input price; what providers published in 2026. The first name that fits counts. */
const OPENAI_READS: [name: RegExp, share: number][] = [
  [/^gpt-([5-9]|[1-9]\d)/, 0.1],
  [/^(gpt-4\.1|o3|o4)/, 0.25],
];
/** The older ones; and rather too much than too little where a name says nothing. */
const OPENAI_READ = 0.5;
const ANTHROPIC_READ = 0.1;
const ANTHROPIC_WRITE = 1.25;

/** What cached input costs. Of compatible servers nothing is known: there it costs what all input does. */
export function cachePrices({
  kind,
  modelId,
  inputPrice,
}: Pick<UsableModelRow, 'kind' | 'modelId' | 'inputPrice'>): Pick<
  SnapshotModel,
  'cacheReadPrice' | 'cacheWritePrice'
> {
  if (inputPrice === 0) return {};
  if (kind === 'anthropic') {
    return { cacheReadPrice: inputPrice * ANTHROPIC_READ, cacheWritePrice: inputPrice * ANTHROPIC_WRITE };
  }
  if (kind !== 'openai') return {};
  const share = OPENAI_READS.find(([name]) => name.test(modelId))?.[1] ?? OPENAI_READ;
  return { cacheReadPrice: inputPrice * share };
}
