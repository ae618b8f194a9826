import { Button } from '../../blocks/button.tsx';
import { Input } from '../../blocks/field.tsx';
import { Notice } from '../../blocks/states.tsx';
import { messageOf } from '../../data/issues.ts';

/** Stays at the lower edge while there is something to save. */
export function SaveBar({
  isChanged,
  isInvalid,
  changed,
  notes,
  onNotes,
  busy,
  error,
  onDiscard,
}: {
  isChanged: boolean;
  isInvalid: boolean;
  changed: string[];
  notes: string;
  onNotes: (notes: string) => void;
  busy: boolean;
  error: unknown;
  onDiscard: () => void;
}) {
  if (!isChanged && !error) return null;
  return (
    <div className="sticky -bottom-5 z-10 -mx-1 flex flex-col gap-2 rounded-lg border border-line bg-raised p-3 shadow-high">
      {error ? <Notice tone="bad">{messageOf(error)}</Notice> : null}
      <div className="flex flex-wrap items-center gap-2">
        <Input
          aria-label="Note on this version"
          placeholder="Why? A note for the list of versions"
          maxLength={2000}
          value={notes}
          onChange={({ target }) => onNotes(target.value)}
          className="flex-1 basis-56"
        />
        <span className="hidden max-w-64 truncate text-xs text-faint md:inline" title={changed.join(', ')}>
          {isInvalid ? 'Mend what is marked first' : `Changed: ${changed.join(', ')}`}
        </span>
        <Button onClick={onDiscard}>Discard</Button>
        <Button type="submit" kind="primary" busy={busy} disabled={isInvalid || !isChanged}>
          Save
        </Button>
      </div>
    </div>
  );
}
