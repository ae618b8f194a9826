import type { Api } from '@troupe/sdk';
import { Code, CopyButton, Json } from '@troupe/ui';
import { CircleCheck, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { formatNumber } from '../../../data/format.ts';
import { promptText } from './prompt-text.ts';

/** What the model was given, to the letter, or said to be not. */
export function ShownPrompt({ prompt }: { prompt: Api.Prompt }) {
  const { settings } = prompt;
  return (
    <section aria-label={`Prompt of step ${prompt.step}`} className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 text-xs">
        {prompt.exact ? (
          <span className="flex items-center gap-1 text-good">
            <CircleCheck size={14} aria-hidden="true" /> Exactly what was sent
          </span>
        ) : (
          <span className="flex items-start gap-1 text-warn">
            <TriangleAlert size={14} aria-hidden="true" className="mt-0.5 shrink-0" />
            <span>Not exact: {prompt.why.join(' ') || 'something has changed since.'}</span>
          </span>
        )}
        <span className="text-muted">{prompt.model}</span>
        {prompt.agentKey && <span className="text-muted">{prompt.agentKey}</span>}
        <span className="text-muted">at most {formatNumber(settings.maxOutputTokens)} tokens</span>
        {settings.reasoningEffort && <span className="text-muted">reasoning {settings.reasoningEffort}</span>}
        {settings.toolChoice === 'none' && <span className="text-muted">no tools allowed</span>}
        <span className="ml-auto">
          <CopyButton text={promptText(prompt)} label="Copy the prompt" />
        </span>
      </div>
      <Part title="System">
        {prompt.system ? (
          <Code text={prompt.system} language="text" lines={40} label="System text" />
        ) : (
          <p className="text-sm text-muted">None.</p>
        )}
      </Part>
      <Part title={`Messages (${prompt.messages.length})`}>
        <ol className="flex flex-col divide-y divide-line rounded-md border border-line">
          {prompt.messages.map((message, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a prompt never changes, and its messages have no ids
            <li key={index} className="flex flex-col gap-1 px-3 py-2 text-sm">
              <PromptMessage message={message} />
            </li>
          ))}
        </ol>
      </Part>
      <Part title={`Tools (${prompt.tools.length})`}>
        {prompt.tools.length === 0 && <p className="text-sm text-muted">None.</p>}
        {prompt.tools.map((tool) => (
          <details key={tool.name} className="rounded-md border border-line px-3 py-1.5">
            <summary className="text-sm">
              <span className="font-mono text-xs">{tool.name}</span>{' '}
              <span className="text-muted">{tool.description.slice(0, 120)}</span>
            </summary>
            <div className="flex flex-col gap-2 py-2">
              <p className="text-sm whitespace-pre-wrap text-muted">{tool.description}</p>
              <Json value={tool.inputSchema} label={`Input of ${tool.name}`} />
            </div>
          </details>
        ))}
      </Part>
      {settings.answerSchema && (
        <Part title="Schema of the answer">
          <Json value={settings.answerSchema} label="Schema of the answer" />
        </Part>
      )}
    </section>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <h4 className="text-xs font-semibold text-muted">{title}</h4>
      {children}
    </div>
  );
}

function PromptMessage({ message }: { message: Api.PromptMessage }) {
  const name = 'name' in message && message.name ? ` · ${message.name}` : '';
  return (
    <>
      <span className="text-2xs font-semibold tracking-wide text-faint uppercase">
        {message.role}
        {message.role === 'tool' && message.isError && <span className="text-bad"> error</span>}
        <span className="font-normal normal-case">{name}</span>
      </span>
      {message.role === 'tool' ? (
        <Json value={message.output} label={`Output of ${message.name}`} lines={12} />
      ) : (
        message.text && (
          <p className="max-h-96 overflow-y-auto break-words whitespace-pre-wrap">{message.text}</p>
        )
      )}
      {(message.role === 'user' || message.role === 'tool') &&
        message.parts?.map((part, index) =>
          part.type === 'image' ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts have no ids
            <p key={index} className="text-xs text-muted">
              A picture{part.url ? `: ${part.url}` : ` (${part.mediaType})`}
            </p>
          ) : null,
        )}
      {message.role === 'assistant' &&
        message.calls.map((call) => (
          <div key={call.id} className="flex flex-col gap-1">
            <span className="font-mono text-xs">{call.name}</span>
            <Json value={call.arguments} label={`Arguments of ${call.name}`} lines={12} />
          </div>
        ))}
    </>
  );
}
