import { Notice } from '../../../blocks/states.tsx';
import { Table, Td, Th, Tr } from '../../../blocks/table.tsx';
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
          head={columns.map(({ name, becomes }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name
            <Th key={index}>
              <span className="block font-mono text-text">{name}</span>
              <Tag tone={tones[becomes]}>{becomes}</Tag>
            </Th>
          ))}
        >
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
            <Tr key={index}>
              {columns.map(({ name }, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name
                <Td key={column} className="max-w-72">
                  <p className="truncate" title={`${name}: ${row[column] ?? ''}`}>
                    {row[column]}
                  </p>
                </Td>
              ))}
            </Tr>
          ))}
        </Table>
      </div>
    </section>
  );
}
