import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from '../../blocks/button.tsx';
import { Checkbox, Select, SelectField, TextField } from '../../blocks/field.tsx';
import { Issue } from '../../blocks/form-errors.tsx';
import { Card } from '../../blocks/page.tsx';
import { Tag } from '../../blocks/tag.tsx';
import { toolsQuery } from '../../data/queries.ts';
import type { PartProps } from './edit-tab.tsx';

/** Tools that the agent may call, inline or of the project, and which calls a person must approve. */
export function EditTools({ draft, change }: PartProps) {
  const { data: all = [] } = useQuery(toolsQuery);
  const [approvals, setApprovals] = useState(draft.approvals.join(', '));
  const free = all.filter(({ name }) => !draft.tools.includes(name));
  const setApproval = (name: string, isAsked: boolean) => {
    const others = draft.approvals.filter((one) => one !== name);
    const next = isAsked ? [...others, name] : others;
    change({ approvals: next });
    setApprovals(next.join(', '));
  };
  return (
    <Card
      title="Tools and approvals"
      actions={
        <Select
          aria-label="Add a tool"
          className="max-w-56"
          value=""
          disabled={free.length === 0}
          onChange={({ target }) => change({ tools: [...draft.tools, target.value] })}
        >
          <option value="">{all.length === 0 ? 'No tools yet' : 'Add a tool…'}</option>
          {free.map(({ id, name, kind }) => (
            <option key={id} value={name}>
              {name} ({kind})
            </option>
          ))}
        </Select>
      }
    >
      <div className="flex flex-col gap-4">
        {draft.tools.length === 0 ? (
          <p className="text-sm text-muted">
            None of your own.{' '}
            <Link to="/tools" className="text-accent-strong underline underline-offset-2">
              Define one
            </Link>
            , and it can be added here.
          </p>
        ) : (
          <ul aria-label="Tools" className="flex flex-col divide-y divide-line rounded-md border border-line">
            {draft.tools.map((name) => {
              const own = draft.inlineTools.find((one) => one.name === name);
              const tool = own ?? all.find((one) => one.name === name);
              return (
                <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
                  <div className="min-w-0 flex-1 basis-48">
                    <p className="flex items-center gap-2 text-sm">
                      <span className="truncate font-mono text-xs">{name}</span>
                      {tool ? <Tag>{tool.kind}</Tag> : all.length > 0 && <Tag tone="bad">not there</Tag>}
                      {own && <Tag>own</Tag>}
                    </p>
                    {tool?.description && <p className="truncate text-xs text-muted">{tool.description}</p>}
                  </div>
                  {tool?.approval ? (
                    <span className="text-xs text-faint">Always asks</span>
                  ) : (
                    <Checkbox
                      label="Ask a person"
                      checked={draft.approvals.includes(name)}
                      onChange={(checked) => setApproval(name, checked)}
                    />
                  )}
                  <IconButton
                    label={`Remove ${name}`}
                    icon={X}
                    onClick={() => {
                      change({
                        tools: draft.tools.filter((one) => one !== name),
                        inlineTools: draft.inlineTools.filter((one) => one.name !== name),
                      });
                      if (draft.approvals.includes(name)) setApproval(name, false);
                    }}
                  />
                </li>
              );
            })}
          </ul>
        )}
        <Issue path="tools" />
        <div className="grid gap-4 md:grid-cols-2">
          <TextField
            label="A person must approve calls of"
            hint="Names of tools, those of capabilities too, separated by commas."
            path="approvals"
            placeholder="run_code, send_mail"
            value={approvals}
            onChange={(value) => {
              setApprovals(value);
              const given = value.split(/[\s,]+/).filter((name) => name !== '');
              change({ approvals: [...new Set(given)] });
            }}
          />
          <SelectField
            label="Who decides"
            path="approvers"
            value={draft.approvers}
            onChange={(approvers) => change({ approvers })}
            options={[
              ['anyone', 'Anyone who can reach the session'],
              ['keys', 'Only whoever has a secret key'],
            ]}
          />
        </div>
      </div>
    </Card>
  );
}
