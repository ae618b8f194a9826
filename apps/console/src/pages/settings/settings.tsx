import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { SelectField, TextField } from '../../blocks/field.tsx';
import { Form } from '../../blocks/form.tsx';
import { Card, Page } from '../../blocks/page.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { storedKey, storeKey, troupe } from '../../data/client.ts';
import { projectQuery } from '../../data/project.ts';
import { changeSettings, useSettings } from '../../data/settings.ts';
import { systemQuery } from '../../shell/system.ts';
import { RetentionCard } from './retention.tsx';

export function SettingsPage() {
  const system = useQuery(systemQuery);
  const project = useQuery(projectQuery);
  return (
    <Page title="Settings" about="Yours are kept in this browser, those of the project on the server.">
      <div className="grid max-w-5xl gap-5 lg:grid-cols-2">
        <Browser />
        <Card title="Project">
          <Loaded query={project}>{(found) => <Project key={found.updatedAt} project={found} />}</Loaded>
        </Card>
        <RetentionCard />
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
        <SelectField
          label="Theme"
          value={settings.theme}
          onChange={(theme) => changeSettings({ theme })}
          options={[
            ['system', 'System'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ]}
        />
        <SelectField
          label="Time zone"
          hint="All times of the console are in it."
          value={settings.timeZone ?? ''}
          onChange={(value) => changeSettings({ timeZone: value || null })}
          first={`Time zone of this browser (${Intl.DateTimeFormat().resolvedOptions().timeZone})`}
          options={zones.map((zone) => [zone, zone])}
        />
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
  return (
    <Form
      submit="Save project"
      isIncomplete={name.trim() === project.name || !name.trim()}
      act={() => troupe.access.updateProject({ body: { name: name.trim() } })}
      changes="project"
      onDone={() => {
        say('Saved the project.');
        void client.invalidateQueries({ queryKey: ['system'] });
      }}
    >
      <TextField label="Name" path="name" required maxLength={200} value={name} onChange={setName} />
      <dl className="text-sm">
        <dt className="text-xs text-muted">Id</dt>
        <dd className="font-mono text-xs break-all">{project.id}</dd>
      </dl>
    </Form>
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
