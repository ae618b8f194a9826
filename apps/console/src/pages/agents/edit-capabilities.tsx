import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { ChevronDown, X } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '../../blocks/button.tsx';
import { cx } from '../../blocks/cx.ts';
import { Select } from '../../blocks/field.tsx';
import { Issue } from '../../blocks/form-errors.tsx';
import { Card } from '../../blocks/page.tsx';
import { SchemaFields } from '../../blocks/schema-fields.tsx';
import { Sortable } from '../../blocks/sortable.tsx';
import type { PartProps } from './edit-tab.tsx';
import { capabilitiesQuery } from './queries.ts';

type Carried = Api.AgentDefinition['capabilities'][number];

/** In their order, which is that of their prompts. Delegation is one of them, with its depths and deadlines as options. */
export function EditCapabilities({ draft, change, invalid }: PartProps) {
  const { data: all = [] } = useQuery(capabilitiesQuery);
  const [opened, setOpened] = useState<string | null>(null);
  const carried = draft.capabilities;
  const known = (id: string) => all.find((one) => one.id === id);
  const free = all.filter(
    ({ id, status }) => status === 'available' && !carried.some((one) => one.id === id),
  );
  const set = (id: string, config: Carried['config']) =>
    change({ capabilities: carried.map((one) => (one.id === id ? { ...one, config } : one)) });
  return (
    <Card
      title="Capabilities"
      actions={
        <Select
          aria-label="Add a capability"
          className="max-w-56"
          value=""
          disabled={free.length === 0}
          onChange={({ target }) => change({ capabilities: [...carried, { id: target.value, config: {} }] })}
        >
          <option value="">Add a capability…</option>
          {free.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
      }
    >
      <Issue path="capabilities" className="mb-3" />
      {carried.length === 0 ? (
        <p className="text-sm text-muted">
          None. A capability is a prompt with tools: the time, files, a sandbox for code, memory, the web, or
          work handed to other agents.
        </p>
      ) : (
        <Sortable
          label="Capabilities in their order"
          items={carried}
          keyOf={({ id }) => id}
          nameOf={({ id }) => known(id)?.name ?? id}
          onOrder={(capabilities) => change({ capabilities })}
        >
          {({ id, config }, index) => {
            const capability = known(id);
            const hasOptions = Object.keys(capability?.configSchema.properties ?? {}).length > 0;
            const isOpen = opened === id;
            const includes = capability?.includes ?? [];
            return (
              <div className="flex flex-col gap-2">
                <div className="flex min-w-0 items-start gap-2">
                  <div className="min-w-0 flex-1">
                    <p className="truncate text-sm font-medium">{capability?.name ?? id}</p>
                    <p className="text-xs text-muted">
                      {capability?.description}
                      {includes.length > 0 && ` Brings ${includes.join(', ')} along.`}
                    </p>
                  </div>
                  {hasOptions && (
                    <Button
                      size="small"
                      kind="quiet"
                      aria-expanded={isOpen}
                      onClick={() => setOpened(isOpen ? null : id)}
                    >
                      Options{Object.keys(config).length > 0 && ` (${Object.keys(config).length})`}
                      <ChevronDown size={14} aria-hidden="true" className={cx(isOpen && 'rotate-180')} />
                    </Button>
                  )}
                  <IconButton
                    label={`Remove ${capability?.name ?? id}`}
                    icon={X}
                    onClick={() => {
                      invalid(`capabilities.${id}`, false);
                      change({ capabilities: carried.filter((one) => one.id !== id) });
                    }}
                  />
                </div>
                {isOpen && capability && (
                  <div className="grid gap-3 rounded-md bg-sunken p-3 sm:grid-cols-2">
                    <SchemaFields
                      isSpelled
                      schema={capability.configSchema}
                      value={config}
                      path={`capabilities.${index}.config`}
                      onChange={(value, wrong) => {
                        set(id, value as Carried['config']);
                        invalid(`capabilities.${id}`, wrong.length > 0);
                      }}
                    />
                  </div>
                )}
              </div>
            );
          }}
        </Sortable>
      )}
    </Card>
  );
}
