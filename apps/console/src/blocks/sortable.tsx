import { GripVertical } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { cx } from './cx.ts';

/** A list that people put in order: by dragging, or with the arrow keys on the handle. */
export function Sortable<Item>({
  items,
  onOrder,
  keyOf,
  nameOf,
  label,
  children,
}: {
  items: Item[];
  onOrder: (items: Item[]) => void;
  keyOf: (item: Item) => string;
  /** For the handle, and for what is said of the new place. */
  nameOf: (item: Item) => string;
  label: string;
  children: (item: Item, index: number) => ReactNode;
}) {
  const [dragged, setDragged] = useState<number | null>(null);
  const [grabbed, setGrabbed] = useState<number | null>(null);
  const [said, setSaid] = useState('');
  const move = (from: number, to: number) => {
    if (to < 0 || to >= items.length || from === to) return false;
    const next = items.filter((_, index) => index !== from);
    next.splice(to, 0, items[from]!);
    onOrder(next);
    setSaid(`${nameOf(items[from]!)} is number ${to + 1} of ${items.length} now.`);
    return true;
  };
  return (
    <>
      <ol aria-label={label} className="flex flex-col gap-2">
        {items.map((item, index) => (
          <li
            key={keyOf(item)}
            draggable={grabbed === index}
            onDragStart={(event) => {
              event.dataTransfer.effectAllowed = 'move';
              event.dataTransfer.setData('text/plain', nameOf(item));
              setDragged(index);
            }}
            onDragOver={(event) => {
              if (dragged === null) return;
              event.preventDefault();
              if (dragged !== index && move(dragged, index)) {
                setDragged(index);
                setGrabbed(index);
              }
            }}
            onDrop={(event) => event.preventDefault()}
            onDragEnd={() => {
              setDragged(null);
              setGrabbed(null);
            }}
            className={cx(
              'flex min-w-0 items-start gap-1 rounded-md border border-line bg-surface',
              dragged === index && 'border-accent opacity-60',
            )}
          >
            <button
              type="button"
              aria-label={`Move ${nameOf(item)}`}
              title="Drag, or press the up and down arrows"
              onPointerDown={() => setGrabbed(index)}
              onPointerUp={() => setGrabbed(null)}
              onKeyDown={(event) => {
                const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
                if (by === undefined) return;
                event.preventDefault();
                move(index, index + by);
              }}
              className="mt-1.5 ml-1 cursor-grab rounded-sm p-1.5 text-faint hover:text-text"
            >
              <GripVertical size={14} aria-hidden="true" />
            </button>
            <div className="min-w-0 flex-1 py-2 pr-2">{children(item, index)}</div>
          </li>
        ))}
      </ol>
      <p aria-live="polite" className="sr-only">
        {said}
      </p>
    </>
  );
}
