import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { type FormEvent, useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Field, Input, Select } from '../../blocks/field.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { storedKey, storeKey, troupe } from '../../data/client.ts';
import { changeSettings, type Settings, useSettings } from '../../data/settings.ts';
import { systemQuery } from '../../shell/system.ts';

export function SettingsPage() {
  const system = useQuery(systemQuery);
  const project = useQuery({ queryKey: ['project'], queryFn: () => troupe.access.getProject() });
  return (
    <Page title="Settings" about="Yours are kept in this browser, those of the project on the server.">
      <div className="grid max-w-5xl gap-5 lg:grid-cols-2">
        <Browser />
        <Card title="Project">
          <Loaded query={project}>{(found) => <Project key={found.updatedAt} project={found} />}</Loaded>
        </Card>
        <Card title="Server">
          <Loaded query={system}>{(found) => <Server system={found} />}</Loaded>
        </Card>
      </div>
    </Page>
  );
}

function Browser() {
  const settings = useSettings();
  const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];
  return (
    <Card title="This browser">
      <div className="flex flex-col gap-4">
        <Field label="Theme">
          {(ids) => (
            <Select
              {...ids}
              value={settings.theme}
              onChange={({ target }) => changeSettings({ theme: target.value as Settings['theme'] })}
            >
              <option value="system">As the system</option>
              <option value="light">Light</option>
              <option value="dark">Dark</option>
            </Select>
          )}
        </Field>
        <Field label="Time zone" hint="All times of the console are in it.">
          {(ids) => (
            <Select
              {...ids}
              value={settings.timeZone ?? ''}
              onChange={({ target }) => changeSettings({ timeZone: target.value || null })}
            >
              <option value="">
                That of this browser ({Intl.DateTimeFormat().resolvedOptions().timeZone})
              </option>
              {zones.map((zone) => (
                <option key={zone}>{zone}</option>
              ))}
            </Select>
          )}
        </Field>
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => changeSettings({ tourDone: !settings.tourDone })}>
            {settings.tourDone ? 'Show the tour on Home' : 'Hide the tour on Home'}
          </Button>
          {storedKey() && (
            <Button
              kind="danger"
              onClick={() => {
                storeKey(null);
                window.location.assign('/');
              }}
            >
              Forget the key
            </Button>
          )}
        </div>
      </div>
    </Card>
  );
}

function Project({ project }: { project: Api.Project }) {
  const client = useQueryClient();
  const [name, setName] = useState(project.name);
  const save = useMutation({
    mutationFn: () => troupe.access.updateProject({ body: { name: name.trim() } }),
    onSuccess: () => {
      say('Saved.');
      void client.invalidateQueries({ queryKey: ['project'] });
      void client.invalidateQueries({ queryKey: ['system'] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field label="Name" error={save.error?.message}>
        {(ids) => (
          <Input
            {...ids}
            required
            maxLength={200}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <dl className="text-sm">
        <dt className="text-xs text-muted">Id</dt>
        <dd className="font-mono text-xs break-all">{project.id}</dd>
      </dl>
      <Button
        type="submit"
        kind="primary"
        className="self-start"
        busy={save.isPending}
        disabled={name.trim() === project.name || !name.trim()}
      >
        Save
      </Button>
    </form>
  );
}

function Server({ system }: { system: Api.System }) {
  const facts: [string, string][] = [
    ['Version', system.version],
    ['Started as', system.mode],
    [
      'You are here',
      { dev: 'without a key, from this machine', key: 'by a secret key', user: 'as a person' }[
        system.caller.kind
      ],
    ],
    ['Model of agents that name none', system.demo ? 'the demo model' : 'the default model of the project'],
  ];
  return (
    <div className="flex flex-col gap-3">
      {system.keyless && (
        <Notice tone="info">
          Whoever can reach this port of this machine may do everything. Elsewhere a key is asked for.
        </Notice>
      )}
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5 text-sm">
        {facts.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
