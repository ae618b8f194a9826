import { useEffect, useId, useRef, useState } from 'react';
import { Fold } from '../basic/fold.tsx';
import { Markdown } from './markdown.tsx';

export interface ReasoningProps {
  text: string;
  /** Open while nobody has said otherwise. */
  open?: boolean | undefined;
}

/** What a model thought. It opens and closes by itself until somebody does. */
export function Reasoning({ text, open = false }: ReasoningProps) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const bodyId = useId();
  const isOpen = chosen ?? open;
  const body = useRef<HTMLDivElement>(null);
  // While it is written, its end is what one wants to see.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is what makes it longer
  useEffect(() => {
    if (open && body.current) body.current.scrollTop = body.current.scrollHeight;
  }, [open, text]);
  return (
    <div className="troupe-reasoning">
      <Fold isOpen={isOpen} bodyId={bodyId} onToggle={setChosen}>
        <span>{open ? 'Thinking…' : 'Thoughts'}</span>
      </Fold>
      {isOpen && (
        <div id={bodyId} ref={body} className="troupe-reasoning-body">
          <Markdown text={text} streaming={open} />
        </div>
      )}
    </div>
  );
}
