import { Menu } from '@base-ui/react/menu';
import { useQuery } from '@tanstack/react-query';
import { Check, ChevronDown, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button, buttonClass } from '../../blocks/button.tsx';
import { Input, Select } from '../../blocks/field.tsx';
import { MomentInput } from '../../blocks/moment-input.tsx';
import { agentsQuery } from '../../data/queries.ts';
import { DOORS, doorWords, type RunsSearch, STATUSES, spans, statusWords } from './filter.ts';
import { networkNamesQuery } from './names.ts';

type Change = (change: { [Name in keyof RunsSearch]?: RunsSearch[Name] | undefined }) => void;

export function Filters({ search, onChange }: { search: RunsSearch; onChange: Change }) {
  const agents = useQuery(agentsQuery);
  const networks = useQuery(networkNamesQuery);
  const since = search.since ?? '';
  const isBetween = search.until !== undefined || (since !== '' && since !== 'today' && !(since in spans));
  return (
    <search className="flex flex-wrap items-center gap-2" aria-label="Filters">
      <SearchBox value={search.search ?? ''} onChange={(text) => onChange({ search: text || undefined })} />
      <div className="-mx-1 flex min-w-0 gap-2 overflow-x-auto px-1 py-1 *:shrink-0 sm:flex-wrap">
        <StatusMenu value={search.status} onChange={(status) => onChange({ status })} />
        <Choice
          label="Agent"
          value={search.agentId}
          onChange={(agentId) => onChange({ agentId })}
          options={(agents.data ?? []).map(({ id, name }) => [id, name])}
        />
        <Choice
          label="Network"
          value={search.networkId}
          onChange={(networkId) => onChange({ networkId })}
          options={(networks.data ?? []).map(({ id, name }) => [id, name])}
        />
        <Choice
          label="Door"
          value={search.door}
          onChange={(door) => onChange({ door: DOORS.find((name) => name === door) })}
          options={DOORS.map((door) => [door, doorWords[door]])}
        />
        <Select
          aria-label="Made"
          className="w-auto"
          value={isBetween ? 'between' : since}
          onChange={({ target: { value } }) =>
            onChange(
              value === 'between'
                ? { since: new Date(Date.now() - spans['24h']).toISOString(), until: undefined }
                : { since: value || undefined, until: undefined },
            )
          }
        >
          <option value="">Any time</option>
          <option value="today">Today</option>
          <option value="1h">Last hour</option>
          <option value="24h">Last 24 hours</option>
          <option value="7d">Last 7 days</option>
          <option value="30d">Last 30 days</option>
          <option value="between">Between…</option>
        </Select>
        {isBetween && (
          <>
            <MomentInput label="From" value={search.since} onChange={(time) => onChange({ since: time })} />
            <MomentInput label="Until" value={search.until} onChange={(time) => onChange({ until: time })} />
          </>
        )}
        <Others search={search} onChange={onChange} />
      </div>
    </search>
  );
}

/** Writes into the address once nobody has typed for a moment. */
function SearchBox({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  const told = useRef(value);
  const change = useRef(onChange);
  change.current = onChange;
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    const next = text.trim();
    if (next === told.current) return;
    const timer = setTimeout(() => {
      told.current = next;
      change.current(next);
    }, 250);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <Input
      type="search"
      aria-label="Search runs"
      placeholder="Id, error code or what was asked"
      title="Press / to search"
      className="w-full sm:w-64"
      value={text}
      maxLength={200}
      onChange={({ target }) => setText(target.value)}
    />
  );
}

function StatusMenu({
  value,
  onChange,
}: {
  value: string | undefined;
  onChange: (status: string | undefined) => void;
}) {
  const chosen = STATUSES.filter((status) => value?.split(',').includes(status));
  const toggle = (status: (typeof STATUSES)[number]) => {
    const next = STATUSES.filter((each) => chosen.includes(each) !== (each === status));
    onChange(next.length > 0 ? next.join(',') : undefined);
  };
  return (
    <Menu.Root>
      <Menu.Trigger className={buttonClass('plain')}>
        <span className="max-w-52 truncate">
          {chosen.length === 0 ? 'Any status' : chosen.map((status) => statusWords[status]).join(', ')}
        </span>
        <ChevronDown size={14} aria-hidden="true" className="text-faint" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6} align="start" className="z-50">
          <Menu.Popup
            aria-label="Status"
            className="min-w-48 rounded-md border border-line bg-raised p-1 shadow-high outline-none"
          >
            {STATUSES.map((status) => (
              <Menu.CheckboxItem
                key={status}
                checked={chosen.includes(status)}
                onCheckedChange={() => toggle(status)}
                closeOnClick={false}
                className="flex cursor-pointer items-center gap-2 rounded-sm px-2 py-1.5 text-sm outline-none select-none data-[highlighted]:bg-hover"
              >
                <span className="grid size-4 place-items-center rounded-sm border border-line-strong">
                  <Menu.CheckboxItemIndicator>
                    <Check size={12} aria-hidden="true" />
                  </Menu.CheckboxItemIndicator>
                </span>
                {statusWords[status]}
              </Menu.CheckboxItem>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

function Choice({
  label,
  value,
  onChange,
  options,
}: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  options: [value: string, label: string][];
}) {
  const isKnown = value === undefined || options.some(([each]) => each === value);
  return (
    <Select
      aria-label={label}
      className="w-auto max-w-44"
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value || undefined)}
    >
      <option value="">Any {label.toLowerCase()}</option>
      {!isKnown && <option value={value}>One that is not listed</option>}
      {options.map(([each, name]) => (
        <option key={each} value={each}>
          {name}
        </option>
      ))}
    </Select>
  );
}

const others = [
  ['sessionId', 'Of one session'],
  ['spaceId', 'Of one space'],
  ['parentRunId', 'Begun by one run'],
  ['task', 'Of one task'],
  ['triggerType', 'Begun by'],
] as const;

/** Filters that other pages link here with; they can only be taken away. */
function Others({ search, onChange }: { search: RunsSearch; onChange: Change }) {
  return others.map(([name, label]) =>
    search[name] === undefined ? null : (
      <Button
        key={name}
        size="small"
        title={search[name]}
        onClick={() => onChange({ [name]: undefined })}
        aria-label={`${label}: show all again`}
      >
        {label}
        {name === 'triggerType' && ` ${search[name]}`}
        <X size={12} aria-hidden="true" />
      </Button>
    ),
  );
}
