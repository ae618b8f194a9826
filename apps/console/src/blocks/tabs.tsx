import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';

/** Tabs whose choice the page keeps, best in the address: `value` and `onChange`. */
export function Tabs<Value extends string>({
  value,
  onChange,
  tabs,
  label,
  children,
}: {
  value: Value;
  onChange: (value: Value) => void;
  tabs: { value: Value; label: ReactNode }[];
  label: string;
  children?: ReactNode;
}) {
  return (
    <Base.Root
      value={value}
      onValueChange={(next) => onChange(next as Value)}
      className="flex h-full min-h-0 min-w-0 flex-col"
    >
      <Base.List
        aria-label={label}
        className="flex shrink-0 gap-1 overflow-x-auto border-b border-line bg-surface px-4 md:px-6"
      >
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className="-mb-px border-b-2 border-transparent px-2 py-2 text-sm font-medium whitespace-nowrap text-muted hover:text-text data-[active]:border-accent data-[active]:text-text"
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {children}
    </Base.Root>
  );
}

export function TabPanel({
  value,
  children,
  fill = false,
}: {
  value: string;
  children: ReactNode;
  fill?: boolean;
}) {
  return (
    <Base.Panel
      value={value}
      className={fill ? 'min-h-0 min-w-0 flex-1' : 'min-w-0 flex-1 overflow-y-auto px-4 py-5 md:px-6'}
    >
      {children}
    </Base.Panel>
  );
}
