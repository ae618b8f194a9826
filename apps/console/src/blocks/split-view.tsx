import { type ReactNode, Suspense } from 'react';
import { Loading } from './states.tsx';
import { TabPanel, Tabs } from './tabs.tsx';
import { useWide } from './use-wide.ts';

/** A conversation with panels beside it as tabs. In a narrow window the conversation is the first tab. */
export function SplitView<Panel extends string>({
  main,
  mainLabel,
  label,
  panel,
  panels,
  onPanel,
}: {
  main: ReactNode;
  mainLabel: string;
  /** What the tabs are about. */
  label: string;
  /** The chosen tab, `chat` for the conversation. */
  panel: Panel | 'chat' | undefined;
  /** In their order; the first is shown unless another is chosen. */
  panels: readonly { value: Panel; label: string; content: ReactNode }[];
  onPanel: (panel: Panel | 'chat') => void;
}) {
  const isWide = useWide();
  const talk = <Suspense fallback={<Loading />}>{main}</Suspense>;
  const chosen = panels.find(({ value }) => value === panel) ?? (isWide ? panels[0] : undefined);
  const shown = chosen?.value ?? 'chat';
  const tabs = panels.map((one): { value: Panel | 'chat'; label: string } => one);
  const beside = (
    <Tabs
      label={label}
      value={shown}
      onChange={onPanel}
      tabs={isWide ? tabs : [{ value: 'chat', label: mainLabel }, ...tabs]}
    >
      <TabPanel value={shown} fill>
        {chosen ? (
          <div className="h-full overflow-y-auto">
            <Suspense fallback={<Loading />}>{chosen.content}</Suspense>
          </div>
        ) : (
          talk
        )}
      </TabPanel>
    </Tabs>
  );
  if (!isWide) return beside;
  return (
    <div className="flex h-full min-h-0">
      <div className="min-w-0 flex-1">{talk}</div>
      <aside aria-label={label} className="w-[26rem] shrink-0 border-l border-line bg-surface">
        {beside}
      </aside>
    </div>
  );
}
