import { Notice } from '../../../blocks/states.tsx';
import { Table } from '../../../blocks/table.tsx';
import { Tag } from '../../../blocks/tag.tsx';
import { formatNumber } from '../../../data/format.ts';
import type { Preview } from './rows.ts';

const tones = {
  input: 'accent',
  'part of the input': 'accent',
  'system parameter': 'warn',
  metadata: 'info',
  'not taken': 'bad',
} as const;

/** The first rows, and what each column becomes. */
export function MappingPreview({ preview, isPart }: { preview: Preview; isPart: boolean }) {
  const { columns, rows, count, problem } = preview;
  return (
    <section aria-label="How it is read" className="flex min-w-0 flex-col gap-2">
      <p className="text-sm text-muted">
        {isPart ? 'More than ' : ''}
        {formatNumber(count)} {count === 1 ? 'row' : 'rows'}
        {rows.length < count && `; the first ${rows.length}`}
      </p>
      {problem && <Notice tone="warn">{problem}</Notice>}
      <div className="overflow-hidden rounded-md border border-line">
        <Table
          narrow="scroll"
          label="The first rows"
          items={rows}
          keyOf={(_, index) => index}
          columns={columns.map(({ name, becomes }, at) => ({
            // Two columns may have one name.
            name: `${at} ${name}`,
            head: (
              <>
                <span className="block font-mono text-text">{name}</span>
                <Tag tone={tones[becomes]}>{becomes}</Tag>
              </>
            ),
            cellClass: 'max-w-72',
            cell: (row: (typeof rows)[number]) => (
              <p className="truncate" title={`${name}: ${row[at] ?? ''}`}>
                {row[at]}
              </p>
            ),
          }))}
        />
      </div>
    </section>
  );
}
