import type { Api } from '@troupe/sdk';
import { Minus, Pencil, Plus } from 'lucide-react';
import { useMemo } from 'react';
import { cx } from '../../../blocks/cx.ts';
import { TextDiff } from '../../../blocks/text-diff.tsx';
import type { Definition } from '../draft/definition.ts';
import { useNames } from '../names.ts';
import { borrowedIn } from './borrowed.ts';
import { type Changed, changesBetween, type Fact } from './changes.ts';

const hows = {
  added: { word: 'Added', tone: 'text-good', icon: Plus },
  removed: { word: 'Removed', tone: 'text-bad', icon: Minus },
  changed: { word: 'Changed', tone: 'text-info', icon: Pencil },
};
const whats = { agent: 'Agent', tool: 'Tool', network: 'Network', layout: 'Graph' };

/** What differs between two documents, agent by agent; prompts as texts. */
export function ChangesView({
  before,
  after,
  nothing = 'Nothing differs.',
}: {
  before: Definition;
  after: Definition;
  nothing?: string;
}) {
  const names = useNames();
  const changes = useMemo(() => changesBetween(before, after, names), [before, after, names]);
  if (changes.length === 0) return <p className="text-sm text-muted">{nothing}</p>;
  return (
    <ul className="flex flex-col gap-3" aria-label="What differs">
      {changes.map((change) => (
        <One key={`${change.what} ${change.name}`} change={change} />
      ))}
    </ul>
  );
}

/** What differs in tools, models and agents of the project that the network uses, which nobody edited here. */
export function BorrowedView({ changes, label }: { changes: readonly Api.Change[]; label: string }) {
  const found = useMemo(() => borrowedIn(changes), [changes]);
  if (found.length === 0) return null;
  return (
    <section aria-label={label} className="flex flex-col gap-2">
      <p className="text-sm text-muted">{label}</p>
      <ul className="flex flex-col gap-3">
        {found.map((one) => (
          <One key={`${one.what} ${one.name}`} change={{ ...one, how: 'changed' }} />
        ))}
      </ul>
    </section>
  );
}

function One({ change: { what, name, how, facts } }: { change: Changed }) {
  const { word, tone, icon: Icon } = hows[how];
  return (
    <li className="min-w-0 rounded-md border border-line">
      <p className="flex min-w-0 items-center gap-2 px-3 py-2 text-sm">
        <Icon size={14} aria-hidden="true" className={cx('shrink-0', tone)} />
        <span className={cx('font-medium', tone)}>{word}</span>
        <span className="text-muted">{whats[what]}</span>
        <span className="min-w-0 truncate font-medium" title={name}>
          {what === 'layout' ? 'places of agents' : name}
        </span>
      </p>
      {how !== 'removed' && facts.length > 0 && (
        <dl className="flex flex-col gap-2 border-t border-line px-3 py-2 text-sm">
          {facts.map((fact) => (
            <div key={fact.label} className="grid min-w-0 gap-x-3 gap-y-1 sm:grid-cols-[9rem_minmax(0,1fr)]">
              <dt className="text-xs leading-5 text-muted">{fact.label}</dt>
              <dd className="min-w-0">
                <Told fact={fact} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}

function Told({ fact }: { fact: Fact }) {
  if (fact.kind === 'text') return <TextDiff label={fact.label} before={fact.from} after={fact.to} />;
  if (fact.kind === 'value')
    return (
      <span className="break-words">
        {fact.from !== '' && <del className="text-bad">{fact.from}</del>}
        {fact.from !== '' && ' → '}
        <ins className="text-good no-underline">{fact.to === '' ? 'none' : fact.to}</ins>
      </span>
    );
  return (
    <ul className="flex flex-wrap gap-1.5">
      {fact.added.map((key) => (
        <li key={`+${key}`} className="rounded-sm bg-good-soft px-1.5 font-mono text-xs leading-5 text-good">
          + {key}
        </li>
      ))}
      {fact.removed.map((key) => (
        <li key={`-${key}`} className="rounded-sm bg-bad-soft px-1.5 font-mono text-xs leading-5 text-bad">
          − {key}
        </li>
      ))}
    </ul>
  );
}
