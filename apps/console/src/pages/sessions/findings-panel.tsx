import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Telescope } from 'lucide-react';
import { cx } from '../../blocks/cx.ts';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { findingsQuery } from './queries.ts';

export function FindingsPanel({ agentId, sessionId }: { agentId: string; sessionId: string }) {
  const findings = useQuery(findingsQuery(agentId, sessionId));
  return (
    <Loaded query={findings}>
      {({ findings: list }) =>
        list.length === 0 ? (
          <Empty icon={Telescope} title="No findings">
            What research in this session claims is listed here, each with the page that says so.
          </Empty>
        ) : (
          <ol className="divide-y divide-line">
            {list.map((finding, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: they have no ids and only ever become more
              <Found key={at} finding={finding} />
            ))}
          </ol>
        )
      }
    </Loaded>
  );
}

function Found({ finding }: { finding: Api.Finding }) {
  const isAddress = /^https?:\/\//i.test(finding.source);
  return (
    <li className="flex flex-col gap-1 px-4 py-3 text-sm">
      {finding.question && <p className="text-xs break-words text-faint">{finding.question}</p>}
      <p className="font-medium break-words">{finding.claim}</p>
      {finding.quote && (
        <blockquote className="border-l-2 border-line-strong pl-2 break-words text-muted">
          {finding.quote}
        </blockquote>
      )}
      <p className="flex min-w-0 items-center gap-2 text-xs">
        <span
          className={cx(
            'shrink-0 rounded-sm px-1.5',
            finding.confidence === 'high' && 'bg-good-soft text-good',
            finding.confidence === 'low' && 'bg-warn-soft text-warn',
            !['high', 'low'].includes(finding.confidence) && 'bg-sunken text-muted',
          )}
        >
          {finding.confidence} confidence
        </span>
        {isAddress ? (
          <a
            href={finding.source}
            target="_blank"
            rel="noopener noreferrer"
            title={finding.source}
            className="truncate text-accent hover:underline"
          >
            {finding.source}
          </a>
        ) : (
          <span className="truncate text-faint" title={finding.source}>
            {finding.source}
          </span>
        )}
      </p>
    </li>
  );
}
