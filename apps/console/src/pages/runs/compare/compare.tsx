import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { StatusBadge } from '@troupe/ui';
import { ArrowLeftRight, Scale } from 'lucide-react';
import { buttonClass } from '../../../blocks/button.tsx';
import { Card, Page } from '../../../blocks/page.tsx';
import { Empty, Failure, Loading } from '../../../blocks/states.tsx';
import { TextDiff } from '../../../blocks/text-diff.tsx';
import { useWhoWorks } from '../names.ts';
import { ownMessagesQuery, type RunDetails, runQuery, versionOf } from '../run/queries.ts';
import { AlignedSteps } from './aligned-steps.tsx';
import { FactsTable } from './facts-table.tsx';
import { answerOf, askedText } from './texts.ts';

/** Two runs side by side: facts, what they were asked and answered, and step by step. */
export function ComparePage() {
  const { a, b } = useSearch({ from: '/runs/compare' });
  if (!a || !b)
    return (
      <Page title="Compare runs" crumbs={[{ label: 'Runs', to: '/runs' }]}>
        <Empty
          icon={Scale}
          title="Which two?"
          action={
            <Link to="/runs" className={buttonClass()}>
              To the runs
            </Link>
          }
        >
          Select two runs in the list, or choose “Compare with another run” on the page of one.
        </Empty>
      </Page>
    );
  return <Compared a={a} b={b} />;
}

function Compared({ a, b }: { a: string; b: string }) {
  const one = useQuery(runQuery(a));
  const other = useQuery(runQuery(b));
  const error = one.error ?? other.error;
  return (
    <Page
      title="Compare runs"
      crumbs={[{ label: 'Runs', to: '/runs' }]}
      actions={
        <Link to="/runs/compare" search={{ a: b, b: a }} className={buttonClass()}>
          <ArrowLeftRight size={14} aria-hidden="true" /> Swap
        </Link>
      }
    >
      {one.data && other.data ? (
        <Both one={one.data} other={other.data} />
      ) : error ? (
        <Failure
          error={error}
          retry={() => {
            void one.refetch();
            void other.refetch();
          }}
        />
      ) : (
        <Loading />
      )}
    </Page>
  );
}

function Both({ one, other }: { one: RunDetails; other: RunDetails }) {
  const ofOne = useQuery(ownMessagesQuery(one.id, versionOf(one)));
  const ofOther = useQuery(ownMessagesQuery(other.id, versionOf(other)));
  const messages = [ofOne.data ?? [], ofOther.data ?? []] as const;
  return (
    <div className="flex flex-col gap-4">
      <div className="grid gap-4 md:grid-cols-2">
        <Side mark="A" run={one} />
        <Side mark="B" run={other} />
      </div>
      <FactsTable one={one} other={other} />
      <Card title="Asked" flush>
        <TextDiff
          before={askedText(one, messages[0])}
          after={askedText(other, messages[1])}
          label="What they were asked"
          className="rounded-none border-0"
        />
      </Card>
      <Card title="Answered" flush>
        <TextDiff
          before={answerOf(one)}
          after={answerOf(other)}
          label="What they answered"
          className="rounded-none border-0"
        />
      </Card>
      <AlignedSteps one={one} other={other} messages={messages} />
    </div>
  );
}

function Side({ mark, run }: { mark: string; run: RunDetails }) {
  const whoWorks = useWhoWorks();
  return (
    <div className="flex min-w-0 items-center gap-3 rounded-lg border border-line bg-surface px-4 py-3 shadow-low">
      <span className="grid size-6 shrink-0 place-items-center rounded-sm bg-sunken text-xs font-semibold">
        {mark}
      </span>
      <Link
        to="/runs/$runId"
        params={{ runId: run.id }}
        className="min-w-0 flex-1 truncate font-mono text-xs hover:underline"
        title={run.id}
      >
        {run.id}
      </Link>
      <span className="hidden max-w-40 truncate text-sm text-muted sm:block">{whoWorks(run)}</span>
      <StatusBadge status={run.status} />
    </div>
  );
}
