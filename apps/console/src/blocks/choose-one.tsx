import { Combobox } from '@base-ui/react/combobox';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ChevronDown } from 'lucide-react';
import { useDeferredValue, useEffect, useRef, useState } from 'react';
import { Input } from './field.tsx';

export interface Choosable {
  id: string;
  name: string;
  about?: string | null;
}

/** One of many, which must be chosen, found by what is typed; `find` gets the text, empty for those to begin with. */
export function ChooseOne({
  value,
  onChange,
  find,
  queryKey,
  none,
  ...ids
}: {
  value: Choosable | null;
  onChange: (chosen: Choosable | null) => void;
  find: (text: string) => Promise<Choosable[]>;
  queryKey: readonly unknown[];
  /** What is said where there is nothing to choose. */
  none: string;
  id: string;
  'aria-describedby'?: string;
  'aria-invalid'?: true;
}) {
  const [text, setText] = useState('');
  // What is chosen stands in the field; whoever opens the list again wants to see the others.
  const wanted = useDeferredValue(text === value?.name ? '' : text.trim());
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: [...queryKey, wanted],
    queryFn: () => find(wanted),
    placeholderData: keepPreviousData,
  });
  // What is only typed is nothing chosen, and the browser says so where it is.
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.setCustomValidity(value ? '' : 'Choose one of the list.'), [value]);
  return (
    <Combobox.Root
      items={data ?? []}
      filter={null}
      value={value}
      onValueChange={onChange}
      inputValue={text}
      onInputValueChange={setText}
      itemToStringLabel={({ name }: Choosable) => name}
      isItemEqualToValue={(one: Choosable, other: Choosable) => one.id === other.id}
    >
      <div className="relative">
        <Combobox.Input {...ids} ref={field} placeholder="Find…" className="pr-8" render={<Input />} />
        <Combobox.Trigger
          aria-label="Show what there is"
          className="absolute inset-y-0 right-0 grid w-8 place-items-center text-faint"
        >
          <ChevronDown size={14} aria-hidden="true" />
        </Combobox.Trigger>
      </div>
      <Combobox.Portal>
        <Combobox.Positioner sideOffset={4} className="z-60">
          <Combobox.Popup className="max-h-72 w-(--anchor-width) overflow-y-auto rounded-md border border-line bg-raised p-1 shadow-high outline-none">
            <Combobox.Empty className="px-2 py-1.5 text-sm text-muted empty:hidden">
              {error
                ? error.message
                : data && !isPlaceholderData
                  ? wanted
                    ? 'Nothing is called that.'
                    : none
                  : 'Looking…'}
            </Combobox.Empty>
            <Combobox.List>
              {(one: Choosable) => (
                <Combobox.Item
                  key={one.id}
                  value={one}
                  className="cursor-pointer rounded-sm px-2 py-1.5 text-sm outline-none select-none data-[highlighted]:bg-hover data-[selected]:font-medium"
                >
                  <span className="block truncate" title={one.name}>
                    {one.name}
                  </span>
                  {one.about && <span className="block truncate text-xs text-muted">{one.about}</span>}
                </Combobox.Item>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  );
}
