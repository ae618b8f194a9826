import { Button } from '../../blocks/button.tsx';
import { CodeArea } from '../../blocks/code-area.tsx';
import { Checkbox, Field, Input } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { Notice } from '../../blocks/states.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { issueAt, messageOf } from '../../data/issues.ts';
import { ActionFields } from './action-fields.tsx';
import type { TriggerDraft } from './draft.ts';
import { RetryFields } from './retry-fields.tsx';
import { Tester, useTest } from './tester.tsx';
import { COLLECTIONS, eventWords } from './words.ts';

export interface EditorProps {
  draft: TriggerDraft;
  change: (part: Partial<TriggerDraft>) => void;
  error: unknown;
}

/** The rule on one side; on the other, what it would match among the newest documents, judged while one writes. */
export function TriggerEditor({
  draft,
  change,
  error,
  isNew,
  isChanged,
  busy,
  onSave,
  onDiscard,
}: EditorProps & {
  isNew: boolean;
  isChanged: boolean;
  busy: boolean;
  onSave: () => void;
  onDiscard: () => void;
}) {
  const test = useTest(draft);
  const found = (path: string) => test.findings.find((one) => one.path === path)?.message;
  const condition = found('condition') ?? issueAt(error, 'condition');
  const line = /line (\d+)/.exec(condition ?? '')?.[1];
  const about = COLLECTIONS.find(([path]) => path === draft.collection)?.[1];
  return (
    <div className="grid max-w-7xl items-start gap-4 lg:grid-cols-[3fr_2fr]">
      <form
        aria-label="The rule"
        className="flex min-w-0 flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          onSave();
        }}
      >
        <Card title="When it acts">
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label="Name" hint="Letters, digits, _ and -." error={issueAt(error, 'name')}>
              {(ids) => (
                <Input
                  {...ids}
                  required
                  maxLength={64}
                  pattern="[A-Za-z0-9_\-]+"
                  value={draft.name}
                  onChange={({ target }) => change({ name: target.value })}
                />
              )}
            </Field>
            <Field
              label="Collection"
              hint={about ?? 'A path; * is any one segment.'}
              error={found('collection') ?? issueAt(error, 'collection')}
            >
              {(ids) => (
                <>
                  <Input
                    {...ids}
                    required
                    list={`${ids.id}-known`}
                    value={draft.collection}
                    onChange={({ target }) => change({ collection: target.value })}
                    className="font-mono text-xs"
                  />
                  <datalist id={`${ids.id}-known`}>
                    {COLLECTIONS.map(([path, words]) => (
                      <option key={path} value={path}>
                        {words}
                      </option>
                    ))}
                  </datalist>
                </>
              )}
            </Field>
            <fieldset className="sm:col-span-2">
              <legend className="mb-1 text-xs font-medium text-muted">Where</legend>
              <div className="flex flex-wrap gap-4">
                {(['create', 'update', 'delete'] as const).map((event) => (
                  <Checkbox
                    key={event}
                    label={eventWords[event]}
                    checked={draft.events.includes(event)}
                    onChange={({ target }) =>
                      change({
                        events: target.checked
                          ? [...draft.events, event]
                          : draft.events.filter((one) => one !== event),
                      })
                    }
                  />
                ))}
              </div>
              {(found('events') ?? issueAt(error, 'events')) && (
                <p className="mt-1 text-xs text-bad">{found('events') ?? issueAt(error, 'events')}</p>
              )}
            </fieldset>
            <Field
              label="Condition"
              hint="CEL over event.type, event.document and event.before. Empty: always."
              error={condition}
              className="sm:col-span-2"
            >
              {(ids) => (
                <CodeArea
                  {...ids}
                  rows={3}
                  value={draft.condition}
                  errorLine={line ? Number(line) : null}
                  onChange={(text) => change({ condition: text })}
                />
              )}
            </Field>
            <Checkbox
              className="sm:col-span-2"
              label="A change counts only where the condition did not hold before"
              checked={draft.edge}
              onChange={({ target }) => change({ edge: target.checked })}
            />
          </div>
        </Card>
        <ActionFields draft={draft} change={change} error={error} />
        <RetryFields draft={draft} change={change} error={error} />
        {error ? <Notice tone="bad">{messageOf(error)}</Notice> : null}
        {(isChanged || isNew) && (
          <div className="sticky bottom-2 z-10 flex justify-end gap-2 rounded-lg border border-line bg-raised p-3 shadow-high">
            <Button onClick={onDiscard}>{isNew ? 'Cancel' : 'Discard'}</Button>
            <Button type="submit" kind="primary" busy={busy}>
              {isNew ? 'Create' : 'Save'}
            </Button>
          </div>
        )}
        <Unsaved when={isChanged} />
      </form>
      <Tester test={test} />
    </div>
  );
}
