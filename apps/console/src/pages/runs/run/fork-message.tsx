import type { Api } from '@troupe/sdk';
import { Pencil, Undo2 } from 'lucide-react';
import { Button } from '../../../blocks/button.tsx';
import { cx } from '../../../blocks/cx.ts';
import { TextArea } from '../../../blocks/field.tsx';
import { editable } from './fork-edits.ts';

const roles: Record<Api.MessageRole, string> = {
  user: 'User',
  assistant: 'Assistant',
  system: 'System',
  tool_call: 'Tool call',
  tool_result: 'Tool result',
};

export function EditableMessage({
  message,
  value,
  issue,
  onChange,
}: {
  message: Api.Message;
  /** Undefined: it stays as it is. */
  value: string | undefined;
  issue: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  const { text, isJson } = editable(message);
  const name = `${roles[message.role]} ${message.sequence}`;
  return (
    <li className="flex flex-col gap-1 px-3 py-2">
      <div className="flex items-center gap-2 text-xs text-muted">
        <span className="font-semibold">{roles[message.role]}</span>
        {message.role === 'tool_call' && <span className="font-mono">{message.content.name}</span>}
        <span className="text-faint tabular-nums">{message.sequence}</span>
        <Button
          kind="quiet"
          size="small"
          className="ml-auto"
          aria-label={value === undefined ? `Change ${name}` : `Leave ${name} as it is`}
          icon={
            value === undefined ? (
              <Pencil size={12} aria-hidden="true" />
            ) : (
              <Undo2 size={12} aria-hidden="true" />
            )
          }
          onClick={() => onChange(value === undefined ? text : undefined)}
        >
          {value === undefined ? 'Change' : 'Undo'}
        </Button>
      </div>
      {value === undefined ? (
        <p
          className={cx(
            'max-h-24 overflow-hidden text-sm break-words whitespace-pre-wrap',
            isJson && 'font-mono text-xs',
          )}
        >
          {text}
        </p>
      ) : (
        <>
          <TextArea
            aria-label={name}
            aria-invalid={issue ? true : undefined}
            className={isJson ? 'font-mono text-xs' : ''}
            rows={Math.min(12, Math.max(3, value.split('\n').length))}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
          {issue && <p className="text-xs text-bad">{issue}</p>}
        </>
      )}
    </li>
  );
}
