import { Dialog } from '@base-ui/react/dialog';
import { Outlet, useRouterState } from '@tanstack/react-router';
import { Menu } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { Button } from '../blocks/button.tsx';
import { Loading } from '../blocks/states.tsx';
import { Toasts } from '../blocks/toast.tsx';
import { Banner } from './banner.tsx';
import { useShortcuts } from './shortcuts.ts';
import { Sidebar } from './sidebar.tsx';

const Palette = lazy(() => import('./palette.tsx'));
const KeyboardHelp = lazy(() => import('./keyboard-help.tsx'));

/** What is around every page: the side, the banner, the palette, the help. */
export function Shell() {
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const [drawer, setDrawer] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useShortcuts({ onPalette: () => setPalette(true), onHelp: () => setHelp(true) });
  // Another page begins at its top, for the eye and for screen readers.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the path that matters
  useEffect(() => {
    document.getElementById('main')?.scrollTo(0, 0);
  }, [path]);
  return (
    <div className="flex h-full">
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        To the content
      </a>
      <div className="hidden h-full md:block">
        <Sidebar onPalette={() => setPalette(true)} />
      </div>
      <div className="flex h-full min-w-0 flex-1 flex-col">
        <div className="flex items-center gap-2 border-b border-line bg-sunken px-3 py-2 md:hidden">
          <Button
            kind="quiet"
            size="icon"
            aria-label="Open the menu"
            icon={Menu}
            onClick={() => setDrawer(true)}
          />
          <img src="/icon.svg" alt="" width={20} height={20} />
          <span className="font-semibold">Troupe</span>
        </div>
        <Banner />
        <main
          id="main"
          tabIndex={-1}
          className="min-h-0 flex-1 overflow-y-auto outline-none focus-visible:shadow-none"
        >
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <Dialog.Root open={drawer} onOpenChange={setDrawer}>
        <Dialog.Portal>
          <Dialog.Backdrop className="fixed inset-0 z-40 bg-[rgb(10_10_20/45%)]" />
          <Dialog.Popup aria-label="Menu" className="fixed inset-y-0 left-0 z-50 shadow-high">
            <Sidebar
              onPalette={() => {
                setDrawer(false);
                setPalette(true);
              }}
              onNavigate={() => setDrawer(false)}
            />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <Suspense>
        {palette && <Palette onClose={() => setPalette(false)} onHelp={() => setHelp(true)} />}
        {help && <KeyboardHelp onClose={() => setHelp(false)} />}
      </Suspense>
      <Toasts />
    </div>
  );
}
