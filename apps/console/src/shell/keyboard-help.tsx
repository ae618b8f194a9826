import { Dialog } from '../blocks/dialog.tsx';
import { allPlaces } from './navigation.ts';

const groups: { heading: string; keys: [keys: string, what: string][] }[] = [
  {
    heading: 'Everywhere',
    keys: [
      ['⌘ K', 'find or do anything (Ctrl K)'],
      ['/', 'search on this page'],
      ['?', 'this help'],
      ['Esc', 'close what is open'],
    ],
  },
  {
    heading: 'In lists',
    keys: [
      ['j  k', 'next, previous'],
      ['Enter', 'open'],
      ['x', 'choose, for several at once'],
    ],
  },
  {
    heading: 'In the inbox',
    keys: [
      ['a', 'approve'],
      ['r', 'reject'],
    ],
  },
  {
    heading: 'While writing',
    keys: [
      ['Enter', 'send'],
      ['Shift Enter', 'a new line'],
    ],
  },
];

export default function KeyboardHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Keyboard" wide>
      <div className="grid gap-x-10 gap-y-5 sm:grid-cols-2">
        <Keys heading="Go to" keys={allPlaces.map(({ key, label }) => [`g ${key}`, label])} />
        <div className="flex flex-col gap-5">
          {groups.map((group) => (
            <Keys key={group.heading} {...group} />
          ))}
        </div>
      </div>
    </Dialog>
  );
}

function Keys({ heading, keys }: { heading: string; keys: [keys: string, what: string][] }) {
  return (
    <section>
      <h3 className="mb-1 text-xs font-semibold text-faint">{heading}</h3>
      <dl>
        {keys.map(([pressed, what]) => (
          <div key={pressed} className="flex items-center gap-3 py-0.5 text-sm">
            <dt className="w-24 shrink-0">
              {pressed.split(/(?<=\S) +/).map((key) => (
                <kbd
                  key={key}
                  className="mr-1 rounded-sm border border-line-strong bg-sunken px-1.5 py-px font-mono text-xs"
                >
                  {key}
                </kbd>
              ))}
            </dt>
            <dd className="text-muted">{what}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
