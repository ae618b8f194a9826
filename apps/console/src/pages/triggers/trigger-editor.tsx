import { CodeArea } from '../../blocks/code-area.tsx';
import { Checkbox, Field, TextField } from '../../blocks/field.tsx';
import { FormErrors, Issue } from '../../blocks/form-errors.tsx';
import { Card } from '../../blocks/page.tsx';
import { SaveBar } from '../../blocks/save-bar.tsx';
import { Unsaved } from '../../blocks/unsaved.tsx';
import { issueAt } from '../../data/issues.ts';
import { ActionFields } from './action-fields.tsx';
import type { TriggerDraft } from './draft.ts';
import { RetryFields } from './retry-fields.tsx';
import { Tester, useTest } from './tester.tsx';
import { COLLECTIONS, eventWords } from './words.ts';

export interface EditorProps {
  draft: TriggerDraft;
  change: (part: Partial<TriggerDraft>) => void;
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
  error: unknown;
  isNew: boolean;
  isChanged: boolean;
  busy: boolean;
  onSave: () => void;
  onDiscard: () => void;
}) {
  const test = useTest(draft);
  const found = (path: string) => test.findings.find((one) => one.path === path)?.message;
  const condition = found('condition');
  const line = /line (\d+)/.exec(condition ?? issueAt(error, 'condition') ?? '')?.[1];
  const about = COLLECTIONS.find(([path]) => path === draft.collection)?.[1];
  return (
    <div className="grid max-w-7xl items-start gap-4 lg:grid-cols-[3fr_2fr]">
      <FormErrors error={error}>
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
              <TextField
                label="Name"
                hint="Letters, digits, _ and -."
                path="name"
                required
                maxLength={64}
                pattern="[A-Za-z0-9_\-]+"
                value={draft.name}
                onChange={(name) => change({ name })}
              />
              <TextField
                label="Collection"
                hint={about ?? 'A path; * is any one segment.'}
                path="collection"
                error={found('collection')}
                required
                mono
                suggestions={COLLECTIONS}
                value={draft.collection}
                onChange={(collection) => change({ collection })}
              />
              <fieldset className="sm:col-span-2">
                <legend className="mb-1 text-xs font-medium text-muted">Where</legend>
                <div className="flex flex-wrap gap-4">
                  {(['create', 'update', 'delete'] as const).map((event) => (
                    <Checkbox
                      key={event}
                      label={eventWords[event]}
                      checked={draft.events.includes(event)}
                      onChange={(checked) =>
                        change({
                          events: checked
                            ? [...draft.events, event]
                            : draft.events.filter((one) => one !== event),
                        })
                      }
                    />
                  ))}
                </div>
                {found('events') ? (
                  <p className="mt-1 text-xs text-bad">{found('events')}</p>
                ) : (
                  <Issue path="events" />
                )}
              </fieldset>
              <Field
                label="Condition"
                hint="CEL over event.type, event.document and event.before. Empty: always."
                path="condition"
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
                onChange={(edge) => change({ edge })}
              />
            </div>
          </Card>
          <ActionFields draft={draft} change={change} />
          <RetryFields draft={draft} change={change} />
          {(isChanged || isNew) && (
            <SaveBar
              submit={isNew ? 'Create trigger' : 'Save'}
              discard={isNew ? 'Cancel' : 'Discard'}
              busy={busy}
              onDiscard={onDiscard}
            />
          )}
          <Unsaved when={isChanged} />
        </form>
      </FormErrors>
      <Tester test={test} />
    </div>
  );
}
