import { type ReactNode, useId, useState } from 'react';
import { Fold } from '../basic/fold.tsx';
import { Time } from '../basic/time.tsx';
import { Markdown } from '../message/markdown.tsx';

/** What was told to the agent and by no person, such as what came of a task: its first line, and the rest for who wants it. */
export function SystemNote({
  text,
  createdAt,
  actions,
}: {
  text: string;
  createdAt: string;
  actions?: ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  const bodyId = useId();
  return (
    <article className="troupe-note" aria-label="System">
      <div className="troupe-note-head">
        <Fold isOpen={isOpen} bodyId={bodyId} onToggle={setOpen}>
          <span className="troupe-note-name">System</span>
          <span className="troupe-note-brief">{text.trim().split('\n', 1)[0]}</span>
        </Fold>
        <Time className="troupe-message-time" value={createdAt} format="clock" />
        {actions && <span className="troupe-message-actions">{actions}</span>}
      </div>
      {isOpen && (
        <div id={bodyId} className="troupe-reasoning-body">
          <Markdown text={text} />
        </div>
      )}
    </article>
  );
}
