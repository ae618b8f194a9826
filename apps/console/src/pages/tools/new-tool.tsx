import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { Page } from '../../blocks/page.tsx';
import { Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { troupe } from '../../data/client.ts';
import { messageOf } from '../../data/issues.ts';
import { bodyOf, newDraft } from './draft.ts';
import { ToolForm } from './tool-form.tsx';
import { kindWords, MADE_KINDS } from './words.ts';

const route = getRouteApi('/tools/new');

export function NewToolPage() {
  const { kind = 'http' } = route.useSearch();
  const [draft, setDraft] = useState(() => newDraft(kind));
  const [invalid, setInvalid] = useState<ReadonlySet<string>>(new Set());
  const client = useQueryClient();
  const navigate = useNavigate();
  const create = useMutation({
    mutationFn: () =>
      troupe.tools.create({ body: { ...bodyOf(draft, null), name: draft.name, kind: draft.kind } }),
    onSuccess: async (tool) => {
      await client.invalidateQueries({ queryKey: ['tools'] });
      say(`${tool.name} is there. Agents carry it once it is added to them.`);
      await navigate({ to: '/tools/$toolId', params: { toolId: tool.id }, ignoreBlocker: true });
    },
  });
  const choose = (next: (typeof MADE_KINDS)[number]) => {
    const { name, displayName, description } = draft;
    setDraft({ ...newDraft(next), name, displayName, description });
    setInvalid(new Set());
    void navigate({ to: '/tools/new', search: { kind: next }, replace: true });
  };
  return (
    <Page title="New tool" crumbs={[{ label: 'Tools', to: '/tools' }]}>
      <form
        aria-label="New tool"
        className="flex max-w-3xl flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (invalid.size === 0) create.mutate();
        }}
      >
        <fieldset>
          <legend className="mb-2 text-xs font-medium text-muted">Who executes a call</legend>
          <div className="grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
            {MADE_KINDS.map((one) => (
              <label
                key={one}
                className={cx(
                  'flex cursor-pointer gap-2 rounded-md border p-3 text-sm',
                  draft.kind === one
                    ? 'border-accent bg-accent-soft'
                    : 'border-line bg-surface hover:bg-hover',
                )}
              >
                <input
                  type="radio"
                  name="kind"
                  checked={draft.kind === one}
                  onChange={() => choose(one)}
                  className="mt-0.5 size-4 shrink-0 accent-[var(--troupe-accent)]"
                />
                <span className="min-w-0">
                  <span className="font-medium">{one}</span>
                  <span className="block text-xs text-muted">{kindWords[one]}</span>
                </span>
              </label>
            ))}
          </div>
          <p className="mt-2 text-xs text-muted">
            Tools of MCP servers are imported there; functions come with the workers that have them.
          </p>
        </fieldset>
        <ToolForm
          key={draft.kind}
          isNew
          draft={draft}
          change={(part) => setDraft((now) => ({ ...now, ...part }))}
          invalid={(field, isInvalid) =>
            setInvalid((now) => {
              const next = new Set(now);
              if (isInvalid) next.add(field);
              else next.delete(field);
              return next;
            })
          }
          error={create.error}
        />
        {create.error && <Notice tone="bad">{messageOf(create.error)}</Notice>}
        <div className="flex justify-end gap-2">
          <Button onClick={() => void navigate({ to: '/tools' })}>Cancel</Button>
          <Button type="submit" kind="primary" busy={create.isPending} disabled={invalid.size > 0}>
            Create
          </Button>
        </div>
        <Unsaved when={!create.isSuccess && (draft.name !== '' || draft.url !== '')} />
      </form>
    </Page>
  );
}
