import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { Form } from '../../blocks/form.tsx';
import { Page } from '../../blocks/page.tsx';
import { say } from '../../blocks/toast.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { troupe } from '../../data/client.ts';
import { useInvalidFields } from '../../data/invalid-fields.ts';
import { bodyOf, newDraft } from './draft.ts';
import { ToolForm } from './tool-form.tsx';
import { kindWords, MADE_KINDS } from './words.ts';

const route = getRouteApi('/tools/new');

export function NewToolPage() {
  const { kind = 'http' } = route.useSearch();
  const [draft, setDraft] = useState(() => newDraft(kind));
  const invalid = useInvalidFields();
  const navigate = useNavigate();
  const choose = (next: (typeof MADE_KINDS)[number]) => {
    const { name, displayName, description } = draft;
    setDraft({ ...newDraft(next), name, displayName, description });
    invalid.clear();
    void navigate({ to: '/tools/new', search: { kind: next }, replace: true });
  };
  return (
    <Page title="Create tool" crumbs={[{ label: 'Tools', to: '/tools' }]}>
      <Form
        label="Create tool"
        className="max-w-3xl"
        submit="Create tool"
        isIncomplete={invalid.any}
        actions={<Button onClick={() => void navigate({ to: '/tools' })}>Cancel</Button>}
        act={() =>
          troupe.tools.create({ body: { ...bodyOf(draft, null), name: draft.name, kind: draft.kind } })
        }
        changes="tools"
        onDone={(tool) => {
          say(`Created tool ${tool.name}. Add it to an agent to use it.`);
          void navigate({ to: '/tools/$toolId', params: { toolId: tool.id }, ignoreBlocker: true });
        }}
      >
        <fieldset>
          <legend className="mb-2 text-xs font-medium text-muted">Kind</legend>
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
            Import tools of MCP servers on their tab. Functions are registered by the workers that have them.
          </p>
        </fieldset>
        <ToolForm
          key={draft.kind}
          isNew
          draft={draft}
          change={(part) => setDraft((now) => ({ ...now, ...part }))}
          invalid={invalid.mark}
        />
        <Unsaved when={draft.name !== '' || draft.url !== ''} />
      </Form>
    </Page>
  );
}
