import { useQuery } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { Checkbox, SelectField, TextAreaField, TextField } from '../../../blocks/field.tsx';
import { agentsQuery, modelsQuery, toolsQuery } from '../../../data/queries.ts';
import {
  type AgentDefinition,
  agentOf,
  changeAgent,
  removeAgent,
  renameAgent,
  sameKey,
  setRoute,
  setTool,
} from '../draft/definition.ts';
import type { Draft } from '../draft/use-draft.ts';
import { KeyPicker } from './key-picker.tsx';

const KEY = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Everything that an agent of a network has, as fields. Each change is an edit of the draft. */
export function AgentForm({
  draft,
  agent,
  onRename,
  onRemoved,
}: {
  draft: Draft;
  agent: AgentDefinition;
  onRename?: (key: string) => void;
  onRemoved?: () => void;
}) {
  const { definition, edit, isFixed } = draft;
  const { data: agents = [] } = useQuery(agentsQuery);
  const { data: models = [] } = useQuery(modelsQuery);
  const { data: tools = [] } = useQuery(toolsQuery);
  const set = (change: Partial<AgentDefinition>, tag?: string) =>
    edit((now) => changeAgent(now, agent.key, change), tag && `${agent.key} ${tag}`);
  const others = definition.agents.filter(({ key }) => !sameKey(key, agent.key));
  return (
    <fieldset disabled={isFixed} className="flex min-w-0 flex-col gap-3">
      <legend className="sr-only">Agent {agent.key}</legend>
      <KeyField
        draft={draft}
        agent={agent}
        onRename={(key) => {
          edit((now) => renameAgent(now, agent.key, key));
          onRename?.(key);
        }}
      />
      <TextField
        label="Name"
        maxLength={200}
        placeholder={agent.key}
        value={agent.displayName ?? ''}
        onChange={(value) => set({ displayName: value || null }, 'name')}
      />
      <div className="flex flex-col gap-1.5">
        <Checkbox
          label="Runs begin here"
          checked={agent.isDefault}
          onChange={(isDefault) => set({ isDefault })}
        />
        <Checkbox
          label="May respond"
          checked={agent.allowRespond}
          onChange={(allowRespond) => set({ allowRespond })}
        />
        <Checkbox
          label="May give tasks to the agents it routes to"
          checked={agent.allowTaskGroup}
          onChange={(allowTaskGroup) => set({ allowTaskGroup })}
        />
      </div>
      <KeyPicker
        label="Routes to"
        add="Add a route to"
        chosen={agent.routes}
        options={others.map(({ key }) => key)}
        onAdd={(to) => edit((now) => setRoute(now, agent.key, to, true))}
        onRemove={(to) => edit((now) => setRoute(now, agent.key, to, false))}
        removeLabel={(to) => `Remove the route to ${to}`}
      />
      <KeyPicker
        label="Tools"
        add="Add a tool"
        chosen={agent.tools}
        options={[...new Set([...definition.tools.map(({ key }) => key), ...tools.map(({ name }) => name)])]}
        onAdd={(tool) => edit((now) => setTool(now, agent.key, tool, true))}
        onRemove={(tool) => edit((now) => setTool(now, agent.key, tool, false))}
        removeLabel={(tool) => `Take ${tool} away`}
      />
      <TextAreaField
        label="Description"
        hint="What other agents read when they may hand over to it."
        rows={2}
        maxLength={10_000}
        value={agent.description}
        onChange={(value) => set({ description: value }, 'description')}
      />
      <TextAreaField
        label="Prompt"
        hint={agent.agentId && agent.prompt === '' ? 'Empty: that of the agent of the project.' : undefined}
        rows={8}
        mono
        value={agent.prompt}
        onChange={(value) => set({ prompt: value }, 'prompt')}
      />
      <SelectField
        label="Based on"
        hint="An agent of the project. It gives the prompt and the model that are empty here."
        first="No agent"
        value={agent.agentId ?? ''}
        onChange={(agentId) => set({ agentId: agentId || null })}
        options={agents.map(({ id, name }) => [id, name])}
      />
      <SelectField
        label="Model"
        first={agent.agentId ? 'The model of that agent' : 'The default model of the project'}
        value={agent.modelId ?? ''}
        onChange={(modelId) => set({ modelId: modelId || null })}
        options={models
          .filter(({ id, status }) => status === 'active' || id === agent.modelId)
          .map(({ id, displayName }) => [id, displayName])}
      />
      {!isFixed && (
        <Button
          kind="danger"
          icon={Trash2}
          className="self-start"
          onClick={() => {
            edit((now) => removeAgent(now, agent.key));
            onRemoved?.();
          }}
        >
          Remove the agent
        </Button>
      )}
    </fieldset>
  );
}

/** A key is taken when the field is left: half a key would be another agent. */
function KeyField({
  draft,
  agent,
  onRename,
}: {
  draft: Draft;
  agent: AgentDefinition;
  onRename: (key: string) => void;
}) {
  const [text, setText] = useState(agent.key);
  const key = text.trim();
  const taken = !sameKey(key, agent.key) && agentOf(draft.definition, key) !== undefined;
  const error = !KEY.test(key)
    ? 'A letter, then letters, digits, “_” and “-”, at most 64.'
    : taken
      ? 'Another agent of the network has this key.'
      : undefined;
  return (
    <TextField
      label="Key"
      error={error}
      hint="Routes and documents refer to the agent by it."
      mono
      maxLength={64}
      value={text}
      onChange={setText}
      onBlur={() => {
        if (!error && key !== agent.key) onRename(key);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.currentTarget.blur();
      }}
    />
  );
}
