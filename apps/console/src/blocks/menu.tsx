import { Menu as Base } from '@base-ui/react/menu';
import type { ReactElement, ReactNode } from 'react';
import { cx } from './cx.ts';
import { Icon, type IconSource } from './icon.tsx';

/** What can be done, behind one button. */
export function Menu({ trigger, children }: { trigger: ReactElement; children: ReactNode }) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} align="end" className="z-50">
          <Base.Popup className="min-w-44 rounded-md border border-line bg-raised p-1 shadow-high outline-none">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export function MenuItem({
  onSelect,
  danger = false,
  disabled = false,
  icon,
  children,
}: {
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
  icon?: IconSource;
  children: ReactNode;
}) {
  return (
    <Base.Item
      onClick={onSelect}
      disabled={disabled}
      className={cx(
        'flex cursor-pointer items-center gap-2 rounded-sm px-2 py-1.5 text-sm outline-none select-none data-[disabled]:opacity-50 data-[highlighted]:bg-hover',
        danger && 'text-bad',
      )}
    >
      {icon && <Icon of={icon} size={14} />}
      {children}
    </Base.Item>
  );
}
