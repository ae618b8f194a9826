import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Check, Minus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Spinner } from '../../blocks/button.tsx';
import { Card } from '../../blocks/page.tsx';
import { Notice } from '../../blocks/states.tsx';
import { Table } from '../../blocks/table.tsx';
import { troupe } from '../../data/client.ts';
import { messageOf } from '../../data/issues.ts';
import { type TriggerDraft, triedOf } from './draft.ts';

const QUIET_MS = 350;

export interface Test {
  findings: Api.TriggerTest['findings'];
  results: Api.TriggerTest['results'];
  /** What is shown is of an earlier text. */
  isOld: boolean;
  error: unknown;
}

/** Judges the rule a moment after the last key; nothing is saved or delivered. */
export function useTest(draft: TriggerDraft): Test {
  const asked = JSON.stringify(triedOf(draft));
  const [settled, setSettled] = useState(asked);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(asked), QUIET_MS);
    return () => clearTimeout(timer);
  }, [asked]);
  const query = useQuery({
    queryKey: ['trigger-test', settled],
    queryFn: ({ signal }) =>
      troupe.triggers.testUnsaved({ body: { trigger: JSON.parse(settled), limit: 50 } }, { signal }),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
  return {
    findings: query.data?.findings ?? [],
    results: query.data?.results ?? [],
    isOld: settled !== asked || query.isFetching,
    error: query.error,
  };
}

export function Tester({ test }: { test: Test }) {
  const { findings, results, isOld, error } = test;
  const matching = results.filter(({ matches }) => matches).length;
  const isBroken = results.length === 0 && findings.length > 0;
  return (
    <Card
      title="Tried on what is there"
      className="lg:sticky lg:top-0"
      actions={
        <span aria-live="polite" className="flex items-center gap-2 text-xs text-muted">
          {isOld && <Spinner />}
          {!isBroken && `${matching} of ${results.length} match`}
        </span>
      }
      flush
    >
      {error ? (
        <Notice tone="bad" className="m-4">
          {messageOf(error)}
        </Notice>
      ) : (
        <>
          {findings.length > 0 && (
            <ul aria-label="What is wrong" className="flex flex-col gap-1 p-4">
              {findings.map(({ path, message }) => (
                <li
                  key={`${path} ${message}`}
                  className="rounded-md bg-bad-soft px-3 py-2 text-sm break-words text-bad"
                >
                  <span className="font-medium">{path}</span>: {message}
                </li>
              ))}
            </ul>
          )}
          {results.length === 0 ? (
            !isBroken && (
              <p className="p-4 text-sm text-muted">
                There are no documents in this collection yet. What comes from now on is judged by the rule
                once it is saved.
              </p>
            )
          ) : (
            <div
              className={isOld ? 'max-h-[70vh] overflow-y-auto opacity-60' : 'max-h-[70vh] overflow-y-auto'}
            >
              <Table
                label="Documents, and whether they match"
                narrow="scroll"
                items={results}
                keyOf={(result) => `${result.path} ${result.event}`}
                columns={[
                  {
                    name: 'Matches',
                    className: 'w-px',
                    cellClass: 'align-top',
                    cell: (result) =>
                      result.matches ? (
                        <span className="inline-flex items-center gap-1 text-good">
                          <Check size={14} aria-hidden="true" /> yes
                        </span>
                      ) : (
                        <span className="inline-flex items-center gap-1 text-faint">
                          <Minus size={14} aria-hidden="true" /> no
                        </span>
                      ),
                  },
                  {
                    name: 'Document',
                    isPlain: true,
                    cellClass: 'max-w-60 sm:max-w-72',
                    cell: (result) => (
                      <>
                        <p className="truncate font-mono text-xs" title={result.path}>
                          {result.event} {result.path}
                        </p>
                        <p className="text-xs break-words text-muted">{result.reason}</p>
                      </>
                    ),
                  },
                ]}
              />
            </div>
          )}
        </>
      )}
    </Card>
  );
}
