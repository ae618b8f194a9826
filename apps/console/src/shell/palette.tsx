import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import {
  Activity,
  BookOpen,
  Bot,
  Keyboard,
  MessageSquare,
  MessageSquarePlus,
  Moon,
  Sun,
  Users,
  Waypoints,
  Wrench,
} from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Spinner } from '../blocks/button.tsx';
import { sayError } from '../blocks/toast.tsx';
import { troupe } from '../data/client.ts';
import { changeSettings, useSettings } from '../data/settings.ts';
import { allPlaces } from './navigation.ts';
import { foundQuery } from './search.ts';

/** Find a place or a thing, or do something: one field for all of it. */
export default function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const navigate = useNavigate();
  const { theme } = useSettings();
  const [text, setText] = useState('');
  const found = useQuery(foundQuery(text.trim()));
  const go = (to: string) => {
    onClose();
    void navigate({ to });
  };
  const talkTo = async (agentId: string) => {
    onClose();
    try {
      const session = await troupe.open(agentId);
      await navigate({ to: `/sessions/${agentId}/${session.id}` as string });
    } catch (error) {
      sayError(error);
    }
  };
  const { agents = [], sessions = [], spaces = [], networks = [], tools = [], runs = [] } = found.data ?? {};
  const isDark =
    theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  return (
    <Command.Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      label="Find or do"
      // What the server found stays, also where it matched by more than the words that are shown.
      shouldFilter={false}
      overlayClassName="fixed inset-0 z-40 bg-[rgb(10_10_20/45%)]"
      contentClassName="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised shadow-high"
    >
      <div className="flex items-center gap-2 border-b border-line pr-3">
        <Command.Input
          value={text}
          onValueChange={setText}
          placeholder="Find an agent, a session, a run by its id… or do something"
          className="h-12 w-full bg-transparent px-4 text-base outline-none placeholder:text-faint focus-visible:shadow-none"
        />
        {found.isFetching && <Spinner className="text-muted" />}
      </div>
      <Command.List className="max-h-[60vh] overflow-y-auto p-2">
        <Command.Empty className="px-3 py-8 text-center text-sm text-muted">
          {found.isFetching ? 'Looking…' : `Nothing is called “${text}”.`}
        </Command.Empty>
        <Group heading="Agents" items={agents}>
          {({ id, name }) => (
            <div key={id}>
              <Item value={`agent ${id}`} icon={<Bot size={16} />} onSelect={() => go(`/agents/${id}`)}>
                {name}
              </Item>
              {text && (
                <Item
                  value={`talk ${id}`}
                  icon={<MessageSquarePlus size={16} />}
                  onSelect={() => void talkTo(id)}
                >
                  Talk to {name}
                </Item>
              )}
            </div>
          )}
        </Group>
        <Group heading="Sessions" items={sessions}>
          {({ id, agentId, title }) => (
            <Item
              key={id}
              value={`session ${id}`}
              icon={<MessageSquare size={16} />}
              onSelect={() => go(`/sessions/${agentId}/${id}`)}
            >
              {title ?? 'A session'}
            </Item>
          )}
        </Group>
        <Group heading="Spaces" items={spaces}>
          {({ id, name }) => (
            <Item
              key={id}
              value={`space ${id}`}
              icon={<Users size={16} />}
              onSelect={() => go(`/spaces/${id}`)}
            >
              {name ?? 'A space'}
            </Item>
          )}
        </Group>
        <Group heading="Networks" items={networks}>
          {({ id, name }) => (
            <Item
              key={id}
              value={`network ${id}`}
              icon={<Waypoints size={16} />}
              onSelect={() => go(`/networks/${id}`)}
            >
              {name}
            </Item>
          )}
        </Group>
        <Group heading="Tools" items={tools}>
          {({ id, name }) => (
            <Item
              key={id}
              value={`tool ${id}`}
              icon={<Wrench size={16} />}
              onSelect={() => go(`/tools/${id}`)}
            >
              {name}
            </Item>
          )}
        </Group>
        <Group heading="Runs" items={runs}>
          {({ id, asked, status }) => (
            <Item
              key={id}
              value={`run ${id}`}
              icon={<Activity size={16} />}
              onSelect={() => go(`/runs/${id}`)}
            >
              {asked ?? id} <span className="text-faint">· {status.replace('_', ' ')}</span>
            </Item>
          )}
        </Group>
        <Group heading="Go to" items={allPlaces.filter(({ label, about }) => matches(text, label, about))}>
          {({ to, label, icon: Icon, key, about }) => (
            <Item
              key={to}
              value={`to ${to}`}
              icon={<Icon size={16} />}
              onSelect={() => go(to)}
              keys={key && `g ${key}`}
            >
              {label} <span className="text-faint">· {about}</span>
            </Item>
          )}
        </Group>
        <Group
          heading="Do"
          items={[
            {
              label: isDark ? 'Light theme' : 'Dark theme',
              icon: isDark ? <Sun size={16} /> : <Moon size={16} />,
              act: () => changeSettings({ theme: isDark ? 'light' : 'dark' }),
            },
            { label: 'Keyboard help', icon: <Keyboard size={16} />, keys: '?', act: onHelp },
            {
              label: 'Reference of the API',
              icon: <BookOpen size={16} />,
              act: () => window.open('/docs', '_blank', 'noopener'),
            },
          ].filter(({ label }) => matches(text, label))}
        >
          {({ label, icon, act, keys }) => (
            <Item
              key={label}
              value={`do ${label}`}
              icon={icon}
              keys={keys}
              onSelect={() => {
                onClose();
                act();
              }}
            >
              {label}
            </Item>
          )}
        </Group>
      </Command.List>
    </Command.Dialog>
  );
}

function matches(text: string, ...words: string[]): boolean {
  const wanted = text.trim().toLowerCase();
  return words.some((word) => word.toLowerCase().includes(wanted));
}

function Group<Of>({
  heading,
  items,
  children,
}: {
  heading: string;
  items: Of[];
  children: (item: Of) => ReactNode;
}) {
  if (items.length === 0) return null;
  return (
    <Command.Group
      heading={heading}
      className="pb-1 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1.5 [&_[cmdk-group-heading]]:text-2xs [&_[cmdk-group-heading]]:font-semibold [&_[cmdk-group-heading]]:tracking-wide [&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:uppercase"
    >
      {items.map(children)}
    </Command.Group>
  );
}

function Item({
  value,
  icon,
  keys,
  onSelect,
  children,
}: {
  value: string;
  icon: ReactNode;
  keys?: string | undefined;
  onSelect: () => void;
  children: ReactNode;
}) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex cursor-pointer items-center gap-2.5 rounded-md px-2 py-1.5 text-sm data-[selected=true]:bg-hover"
    >
      <span aria-hidden="true" className="text-muted">
        {icon}
      </span>
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {keys && <kbd className="font-mono text-2xs text-faint">{keys}</kbd>}
    </Command.Item>
  );
}
