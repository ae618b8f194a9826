import {
  Activity,
  Bot,
  CalendarClock,
  ChartColumn,
  Cpu,
  House,
  Inbox,
  KeyRound,
  ListTree,
  type LucideIcon,
  MessageSquare,
  ScrollText,
  Server,
  Settings2,
  Users,
  Waypoints,
  Webhook,
  Wrench,
} from 'lucide-react';

export interface NavigationItem {
  to: string;
  label: string;
  icon: LucideIcon;
  /** Pressed after `g`. */
  key?: string;
  about: string;
}

/** All places, as the side, the palette and the keyboard help show them. */
export const places: { heading: string | null; items: NavigationItem[] }[] = [
  {
    heading: null,
    items: [
      { to: '/', label: 'Home', icon: House, key: 'h', about: 'What runs, waits and fails' },
      { to: '/inbox', label: 'Inbox', icon: Inbox, key: 'i', about: 'What waits for a person' },
    ],
  },
  {
    heading: 'Work',
    items: [
      { to: '/sessions', label: 'Sessions', icon: MessageSquare, key: 's', about: 'One person, one agent' },
      { to: '/spaces', label: 'Spaces', icon: Users, key: 'p', about: 'Many people, many agents' },
      { to: '/networks', label: 'Networks', icon: Waypoints, key: 'n', about: 'Agents with enforced routes' },
      { to: '/runs', label: 'Runs', icon: Activity, key: 'r', about: 'Every activation, step by step' },
      { to: '/tasks', label: 'Tasks', icon: ListTree, key: 't', about: 'Work handed to sub-agents' },
    ],
  },
  {
    heading: 'Build',
    items: [
      { to: '/agents', label: 'Agents', icon: Bot, key: 'a', about: 'Prompts, models, capabilities' },
      { to: '/tools', label: 'Tools', icon: Wrench, key: 'o', about: 'What agents can do' },
      { to: '/triggers', label: 'Triggers', icon: Webhook, key: 'e', about: 'Act when something changes' },
      { to: '/plans', label: 'Plans', icon: CalendarClock, key: 'l', about: 'Runs that have yet to begin' },
    ],
  },
  {
    heading: 'Operate',
    items: [
      { to: '/workers', label: 'Workers', icon: Server, key: 'w', about: 'Processes and the queue' },
      { to: '/usage', label: 'Usage', icon: ChartColumn, key: 'u', about: 'Tokens, cost, budgets' },
      { to: '/models', label: 'Models', icon: Cpu, key: 'm', about: 'Providers and models' },
      {
        to: '/keys',
        label: 'Keys and secrets',
        icon: KeyRound,
        key: 'k',
        about: 'Who may call, and what with',
      },
      { to: '/audit', label: 'Audit log', icon: ScrollText, key: 'd', about: 'Who changed what' },
      { to: '/settings', label: 'Settings', icon: Settings2, key: ',', about: 'Project, theme, time zone' },
    ],
  },
];

/** Those that a person with a token has business in; the rest is for whoever has a key. */
const ofPeople = new Set(['/', '/inbox', '/sessions', '/spaces', '/tasks', '/settings']);

export function placesOf(caller: 'key' | 'user' | 'dev' | undefined): typeof places {
  if (caller !== 'user') return places;
  return places
    .map(({ heading, items }) => ({ heading, items: items.filter(({ to }) => ofPeople.has(to)) }))
    .filter(({ items }) => items.length > 0);
}

export const allPlaces: NavigationItem[] = places.flatMap(({ items }) => items);
