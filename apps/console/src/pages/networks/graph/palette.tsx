import { useQuery } from '@tanstack/react-query';
import { dragData } from '@troupe/ui/graph';
import { Bot, GripVertical, Plus, Wrench } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Input } from '../../../blocks/field.tsx';
import { agentsQuery, toolsQuery } from '../../../data/queries.ts';

const MOST_SHOWN = 60;

/** What can be dragged onto the graph. A click does the same: it adds the agent, or equips the one that is selected. */
export function Palette({
  onAddAgent,
  onAddTool,
  selectedAgent,
}: {
  onAddAgent: (agentId: string | null) => void;
  onAddTool: (tool: string) => void;
  selectedAgent: string | null;
}) {
  const { data: agents = [] } = useQuery(agentsQuery);
  const { data: tools = [] } = useQuery(toolsQuery);
  const [search, setSearch] = useState('');
  const isFound = (name: string) => name.toLowerCase().includes(search.trim().toLowerCase());
  const shownAgents = agents.filter(({ name, status }) => status === 'active' && isFound(name));
  const shownTools = tools.filter(({ name }) => isFound(name));
  return (
    <aside
      aria-label="Palette"
      className="flex max-h-44 w-full shrink-0 flex-col gap-3 overflow-y-auto border-b border-line bg-surface p-3 md:max-h-none md:w-52 md:border-r md:border-b-0"
    >
      <Input
        type="search"
        aria-label="Find in the palette"
        placeholder="Find…"
        className="shrink-0"
        value={search}
        onChange={({ target }) => setSearch(target.value)}
      />
      <Group heading="Agents">
        <Item
          icon={<Plus size={14} aria-hidden="true" />}
          name="Own agent"
          label="Add an own agent"
          onAdd={() => onAddAgent(null)}
          onDrag={(transfer) => dragData(transfer, 'agent', 'own')}
        />
        {shownAgents.slice(0, MOST_SHOWN).map(({ id, name }) => (
          <Item
            key={id}
            icon={<Bot size={14} aria-hidden="true" />}
            name={name}
            label={`Add ${name}`}
            onAdd={() => onAddAgent(id)}
            onDrag={(transfer) => dragData(transfer, 'agent', id)}
          />
        ))}
        <Rest count={shownAgents.length - MOST_SHOWN} />
      </Group>
      <Group heading="Tools">
        {tools.length === 0 && <li className="px-1 text-xs text-faint">The project has no tools yet.</li>}
        {shownTools.slice(0, MOST_SHOWN).map(({ id, name, description }) => (
          <Item
            key={id}
            icon={<Wrench size={14} aria-hidden="true" />}
            name={name}
            title={description}
            label={selectedAgent ? `Give ${name} to ${selectedAgent}` : `${name}: select an agent first`}
            isDisabled={!selectedAgent}
            onAdd={() => onAddTool(name)}
            onDrag={(transfer) => dragData(transfer, 'tool', name)}
          />
        ))}
        <Rest count={shownTools.length - MOST_SHOWN} />
      </Group>
      <p className="mt-auto hidden text-2xs text-faint md:block">
        Drag onto the graph. Draw a route from one agent’s edge to another.
      </p>
    </aside>
  );
}

function Group({ heading, children }: { heading: string; children: ReactNode }) {
  return (
    <section aria-label={heading}>
      <h3 className="mb-1 px-1 text-2xs font-semibold text-faint">{heading}</h3>
      <ul className="flex flex-col gap-0.5">{children}</ul>
    </section>
  );
}

function Rest({ count }: { count: number }) {
  return count > 0 ? <li className="px-1 text-xs text-faint">and {count} more: search</li> : null;
}

function Item({
  icon,
  name,
  label,
  title,
  onAdd,
  onDrag,
  isDisabled = false,
}: {
  icon: ReactNode;
  name: string;
  label: string;
  title?: string;
  onAdd: () => void;
  onDrag: (transfer: DataTransfer) => void;
  isDisabled?: boolean;
}) {
  return (
    <li>
      <button
        type="button"
        draggable
        aria-label={label}
        aria-disabled={isDisabled}
        title={title || name}
        onDragStart={({ dataTransfer }) => onDrag(dataTransfer)}
        onClick={() => !isDisabled && onAdd()}
        className="flex w-full min-w-0 cursor-grab items-center gap-1.5 rounded-md border border-transparent px-1 py-1 text-sm text-text hover:border-line hover:bg-hover"
      >
        <GripVertical size={12} aria-hidden="true" className="shrink-0 text-faint" />
        <span className="shrink-0 text-muted">{icon}</span>
        <span className="truncate">{name}</span>
      </button>
    </li>
  );
}
