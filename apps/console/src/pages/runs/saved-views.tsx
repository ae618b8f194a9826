import { Link, useNavigate } from '@tanstack/react-router';
import { Bookmark, X } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { TextField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { say } from '../../blocks/toast.tsx';
import type { RunsSearch } from './filter.ts';
import { isSameSearch, readyMade, removeView, saveView, useOwnViews, type View } from './views.ts';

/** Filters that somebody gave a name, and a few that everybody needs. */
export function SavedViews({ search }: { search: RunsSearch }) {
  const own = useOwnViews();
  const [saving, setSaving] = useState(false);
  const views = [...readyMade, ...own];
  const current = views.find((view) => isSameSearch(view.search, search));
  return (
    <nav aria-label="Views" className="flex items-center gap-1 overflow-x-auto">
      {views.map((view) => (
        <ViewLink key={view.name} view={view} isCurrent={view === current} isOwn={own.includes(view)} />
      ))}
      {!current && (
        <Button kind="quiet" size="small" icon={Bookmark} onClick={() => setSaving(true)}>
          Save view
        </Button>
      )}
      {saving && <SaveView search={search} onClose={() => setSaving(false)} />}
    </nav>
  );
}

function ViewLink({ view, isCurrent, isOwn }: { view: View; isCurrent: boolean; isOwn: boolean }) {
  return (
    <span
      className={cx(
        'flex shrink-0 items-center rounded-full border text-xs font-medium',
        isCurrent
          ? 'border-accent bg-accent-soft text-accent-strong'
          : 'border-line text-muted hover:border-line-strong hover:text-text',
      )}
    >
      <Link
        to="/runs"
        search={view.search}
        aria-current={isCurrent ? 'page' : undefined}
        className="max-w-48 truncate rounded-full px-2.5 py-1"
        title={view.name}
      >
        {view.name}
      </Link>
      {isOwn && isCurrent && (
        <button
          type="button"
          aria-label={`Forget the view ${view.name}`}
          className="mr-1 rounded-full p-0.5 hover:bg-hover"
          onClick={() => removeView(view.name)}
        >
          <X size={12} aria-hidden="true" />
        </button>
      )}
    </span>
  );
}

function SaveView({ search, onClose }: { search: RunsSearch; onClose: () => void }) {
  const [name, setName] = useState('');
  const navigate = useNavigate();
  const trimmed = name.trim();
  const taken = readyMade.some((view) => view.name === trimmed);
  return (
    <FormDialog
      onClose={onClose}
      title="Save view"
      submit="Save view"
      isIncomplete={!trimmed || taken}
      act={async () => saveView({ name: trimmed, search })}
      onDone={() => {
        say(`Saved view “${trimmed}” in this browser.`);
        onClose();
        void navigate({ to: '/runs', search });
      }}
    >
      <TextField
        label="Name"
        hint="Saves the current filters in this browser."
        error={taken ? 'A built-in view has this name.' : undefined}
        required
        maxLength={60}
        value={name}
        onChange={setName}
      />
    </FormDialog>
  );
}
