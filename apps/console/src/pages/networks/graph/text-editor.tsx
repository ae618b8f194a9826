import { useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../../../blocks/button.tsx';
import { CodeArea } from '../../../blocks/code-area.tsx';
import { Select } from '../../../blocks/field.tsx';
import type { Definition } from '../draft/definition.ts';
import type { Draft } from '../draft/use-draft.ts';
import type { useTrial } from '../draft/use-trial.ts';
import { type Format, placeFlaws, readDefinition, writeDefinition } from './written.ts';

/** What is being written and is no network yet, kept while other views are looked at. */
const unfinished = new Map<string, { text: string; of: Definition }>();

/** The whole network as a text. As soon as it can be read it is the draft. */
export default function TextEditor({
  draft,
  checked: { trial, isCurrent },
}: {
  draft: Draft;
  checked: ReturnType<typeof useTrial>;
}) {
  const { networkId, definition, edit, isFixed } = draft;
  const [format, setFormat] = useState<Format>('yaml');
  const [text, setText] = useState(() => {
    const kept = unfinished.get(networkId);
    return kept?.of === definition ? kept.text : writeDefinition(definition, 'yaml');
  });
  const told = useRef(definition);
  const area = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Changed elsewhere: by an undo, or by what somebody else saved.
    if (told.current === definition) return;
    told.current = definition;
    setText(writeDefinition(definition, format));
  }, [definition, format]);
  const read = useMemo(() => readDefinition(text), [text]);
  const flaws = useMemo(
    () => (read.definition ? (isCurrent ? placeFlaws(text, trial.problems) : []) : read.flaws),
    [read, text, trial, isCurrent],
  );
  const write = (next: string) => {
    setText(next);
    const { definition: found } = readDefinition(next);
    unfinished.delete(networkId);
    if (!found) {
      unfinished.set(networkId, { text: next, of: definition });
      return;
    }
    told.current = found;
    edit(() => found, 'text');
  };
  const jump = (line: number) => {
    const field = area.current?.querySelector('textarea');
    if (!field) return;
    const before = text.split('\n').slice(0, line - 1);
    const start = before.reduce((sum, one) => sum + one.length + 1, 0);
    field.focus();
    field.setSelectionRange(start, start + (text.split('\n')[line - 1]?.length ?? 0));
    field.scrollTop = Math.max(0, (line - 5) * 20);
  };
  return (
    <div className="flex h-full min-h-0 flex-col gap-3 overflow-y-auto px-4 py-4 md:px-6">
      <div className="flex flex-wrap items-center gap-2">
        <Select
          aria-label="Written as"
          className="w-auto!"
          value={format}
          onChange={({ target }) => {
            const next = target.value as Format;
            setFormat(next);
            setText(writeDefinition(definition, next));
          }}
        >
          <option value="yaml">YAML</option>
          <option value="json">JSON</option>
        </Select>
        <p className="text-xs text-muted">
          The document that <code className="font-mono">troupe networks apply</code> takes. What is left out
          is as usual.
        </p>
      </div>
      <div ref={area}>
        <CodeArea
          aria-label="Definition of the network"
          aria-invalid={read.definition === null || undefined}
          readOnly={isFixed}
          rows={20}
          mostRows={34}
          value={text}
          onChange={write}
          errorLine={flaws[0]?.line ?? null}
        />
      </div>
      {flaws.length > 0 && (
        <ul aria-label="Problems in the text" className="flex flex-col gap-1">
          {flaws.map(({ line, message }) => (
            <li key={`${line} ${message}`} className="flex min-w-0 items-start gap-2 text-sm">
              <Button size="small" kind="quiet" className="text-bad" onClick={() => jump(line)}>
                Line {line}
              </Button>
              <span className="min-w-0 pt-1 break-words">{message}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
