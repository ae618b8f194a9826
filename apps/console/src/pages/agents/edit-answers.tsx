import type { Api } from '@troupe/sdk';
import { Checkbox, SelectField } from '../../blocks/field.tsx';
import { JsonField } from '../../blocks/json-field.tsx';
import { Card } from '../../blocks/page.tsx';
import type { PartProps } from './edit-tab.tsx';

const isObject = (value: unknown): value is Record<string, never> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What its answers must look like, what becomes of doubts, and what is the caller's own. */
export function EditAnswers({ draft, change, invalid }: PartProps) {
  return (
    <Card title="Answers and the rest">
      <div className="grid gap-4 md:grid-cols-2">
        <JsonField
          label="Schema of its answers"
          hint="JSON Schema. Empty: free text."
          path="answer"
          value={draft.answer?.schema ?? null}
          empty={null}
          onChange={(schema, isValid) => {
            const isUsable = isValid && (schema === null || isObject(schema));
            invalid('answer', !isUsable);
            if (!isUsable) return;
            const tries = draft.answer?.tries ?? 3;
            change({
              answer: schema === null ? null : ({ schema, tries } as Api.AgentDefinition['answer']),
            });
          }}
        />
        <JsonField
          label="Metadata"
          hint="Yours: a JSON object."
          path="metadata"
          value={draft.metadata}
          onChange={(metadata, isValid) => {
            const isUsable = isValid && isObject(metadata);
            invalid('metadata', !isUsable);
            if (isUsable) change({ metadata });
          }}
        />
        <SelectField
          label="A call whose outcome a crash left unknown"
          hint="Only calls that must run once."
          path="inDoubt"
          value={draft.inDoubt}
          onChange={(inDoubt) => change({ inDoubt })}
          options={[
            ['tell', 'Tell the model'],
            ['wait', 'Wait for a person'],
          ]}
        />
        <div className="flex items-center">
          <Checkbox
            label="In a space, it may wait for replies"
            checked={draft.replyWaiting}
            onChange={(replyWaiting) => change({ replyWaiting })}
          />
        </div>
      </div>
    </Card>
  );
}
