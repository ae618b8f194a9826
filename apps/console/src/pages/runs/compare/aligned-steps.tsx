import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { cx } from '../../../blocks/cx.ts';
import { Card } from '../../../blocks/page.tsx';
import { Failure, Loading } from '../../../blocks/states.tsx';
import { TextDiff } from '../../../blocks/text-diff.tsx';
import { formatNumber } from '../../../data/format.ts';
import { promptText } from '../run/prompt-text.ts';
import { promptQuery, type RunDetails } from '../run/queries.ts';
import { stepText } from './texts.ts';

const SHOWN = 50;

/** Step by step: the first beside the first. A fork has the steps of what it was forked from, from where it began on. */
export function AlignedSteps({
  one,
  other,
  messages,
}: {
  one: RunDetails;
  other: RunDetails;
  messages: readonly [Api.Message[], Api.Message[]];
}) {
  const [open, setOpen] = useState<number | null>(null);
  const [shown, setShown] = useState(SHOWN);
  const last = Math.max(one.step, other.step);
  if (last === 0) return null;
  return (
    <Card title="Steps" flush>
      <ol className="divide-y divide-line">
        {Array.from({ length: Math.min(last, shown) }, (_, index) => index + 1).map((step) => {
          const texts = [stepText(one, messages[0], step), stepText(other, messages[1], step)] as const;
          return (
            <li key={step}>
              <h3>
                <button
                  type="button"
                  aria-expanded={open === step}
                  onClick={() => setOpen(open === step ? null : step)}
                  className="flex w-full items-center gap-3 px-4 py-2 text-left text-sm hover:bg-hover"
                >
                  <ChevronRight
                    size={14}
                    aria-hidden="true"
                    className={cx('shrink-0 text-faint transition-transform', open === step && 'rotate-90')}
                  />
                  <span className="font-medium">Step {step}</span>
                  <Verdict one={one} other={other} step={step} isSame={texts[0] === texts[1]} />
                  <Tokens one={one} other={other} step={step} />
                </button>
              </h3>
              {open === step && <StepDiff one={one} other={other} step={step} texts={texts} />}
            </li>
          );
        })}
      </ol>
      {last > shown && (
        <div className="p-3">
          <Button onClick={() => setShown(shown + SHOWN)}>Show more of {last} steps</Button>
        </div>
      )}
    </Card>
  );
}

interface Pair {
  one: RunDetails;
  other: RunDetails;
  step: number;
}

function Verdict({ one, other, step, isSame }: Pair & { isSame: boolean }) {
  if (step > one.step) return <span className="text-xs text-good">only in B</span>;
  if (step > other.step) return <span className="text-xs text-bad">only in A</span>;
  return isSame ? (
    <span className="text-xs text-faint">the same answer</span>
  ) : (
    <span className="text-xs text-warn">answers differ</span>
  );
}

function Tokens({ one, other, step }: Pair) {
  const sum = (run: RunDetails) => {
    const found = run.steps.find((each) => each.step === step);
    return found ? formatNumber(found.usage.inputTokens + found.usage.outputTokens) : '–';
  };
  return (
    <span className="ml-auto text-xs text-muted tabular-nums">
      {sum(one)} → {sum(other)} tokens
    </span>
  );
}

function StepDiff({ one, other, step, texts }: Pair & { texts: readonly [string, string] }) {
  const [withPrompt, setWithPrompt] = useState(false);
  return (
    <div className="flex flex-col gap-3 border-t border-line p-4">
      <h4 className="text-xs font-semibold text-muted">Answer</h4>
      <TextDiff before={texts[0]} after={texts[1]} label={`Answers of step ${step}`} />
      <h4 className="text-xs font-semibold text-muted">Prompt</h4>
      {withPrompt ? (
        <PromptDiff one={one} other={other} step={step} />
      ) : (
        <Button size="small" className="self-start" onClick={() => setWithPrompt(true)}>
          Compare the prompts
        </Button>
      )}
    </div>
  );
}

function PromptDiff({ one, other, step }: Pair) {
  const ofOne = useQuery({ ...promptQuery(one.id, step), enabled: step <= one.step });
  const ofOther = useQuery({ ...promptQuery(other.id, step), enabled: step <= other.step });
  const error = ofOne.error ?? ofOther.error;
  if (error) return <Failure error={error} className="py-4" />;
  if (ofOne.isLoading || ofOther.isLoading) return <Loading className="py-4" />;
  return (
    <TextDiff
      before={ofOne.data ? promptText(ofOne.data) : ''}
      after={ofOther.data ? promptText(ofOther.data) : ''}
      label={`Prompts of step ${step}`}
    />
  );
}
