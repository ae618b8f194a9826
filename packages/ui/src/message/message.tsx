import type { Api } from '@troupe/react';
import { memo, type ReactNode, useId } from 'react';
import { Avatar } from '../basic/avatar.tsx';
import { classes } from '../basic/classes.ts';
import { WarnIcon } from '../basic/icons.tsx';
import { Time } from '../basic/time.tsx';
import { Attachments, type ShownFile } from './attachments.tsx';
import { Markdown } from './markdown.tsx';
import { Reasoning } from './reasoning.tsx';

export interface Sender {
  id?: string | null | undefined;
  name: string | null | undefined;
  type?: 'human' | 'agent' | null | undefined;
}

/**
 * `streaming`: it is being written. `sending`: by this page, and not stored yet. `waiting`: it is sent when the server can be reached.
 * `failed`: could not be stored.
 */
export type MessageState = 'sent' | 'streaming' | 'sending' | 'waiting' | 'failed';

export interface MessageProps {
  sender: Sender;
  text: string;
  /** Pictures, and texts between them. */
  parts?: readonly Api.ContentPart[] | undefined;
  /** Whether the text is markdown. Default: what agents say is, what people say is not. */
  markdown?: boolean | undefined;
  createdAt?: string | number | Date | null | undefined;
  state?: MessageState | undefined;
  /** Why it failed, for a person. */
  error?: string | null | undefined;
  onResend?: (() => void) | undefined;
  onDiscard?: (() => void) | undefined;
  /** What the model thought before it; shown folded, open while it thinks and has not begun to write. */
  reasoning?: string | null | undefined;
  files?: readonly ShownFile[] | undefined;
  /** It is by whoever reads it: set off from the others. */
  own?: boolean | undefined;
  /** It follows one of the same sender: without name and avatar. */
  continued?: boolean | undefined;
  /** Buttons that appear beside the time. */
  actions?: ReactNode;
  /** Below the text: tool cards and the like. */
  children?: ReactNode;
}

export const Message = memo(function Message(props: MessageProps) {
  const { sender, text, parts, createdAt, state = 'sent', reasoning, files, own, continued } = props;
  const { markdown = sender.type === 'agent', actions, children } = props;
  const nameId = useId();
  const name = sender.name || (sender.type === 'agent' ? 'Agent' : 'Somebody');
  return (
    <article
      className={classes(
        'troupe-message',
        own && 'troupe-message-own',
        continued && 'troupe-message-continued',
        state !== 'sent' && `troupe-message-${state}`,
      )}
      aria-labelledby={nameId}
      aria-busy={state === 'streaming' || undefined}
    >
      <div className="troupe-message-side">
        {!continued && (
          <Avatar name={name} id={sender.id} type={sender.type} active={state === 'streaming'} />
        )}
      </div>
      <div className="troupe-message-main">
        <header className={continued ? 'troupe-hidden' : 'troupe-message-head'}>
          <span id={nameId} className="troupe-message-name">
            {name}
          </span>
          {sender.type === 'agent' && <span className="troupe-message-kind">agent</span>}
          {createdAt !== undefined && (
            <Time className="troupe-message-time" value={createdAt} format="clock" />
          )}
          {actions && <span className="troupe-message-actions">{actions}</span>}
        </header>
        {reasoning && <Reasoning text={reasoning} open={state === 'streaming' && text === ''} />}
        {text !== '' &&
          (markdown ? (
            <Markdown text={text} streaming={state === 'streaming'} />
          ) : (
            <div className="troupe-message-text" dir="auto">
              {text}
            </div>
          ))}
        {state === 'streaming' && text === '' && !reasoning && <Dots />}
        {parts && parts.length > 0 && <Attachments parts={parts} text={text} />}
        {files && files.length > 0 && <Attachments files={files} />}
        {children}
        <MessageFate {...props} />
      </div>
    </article>
  );
});

function MessageFate({ state, error, onResend, onDiscard }: MessageProps) {
  if (state === 'sending') return <p className="troupe-message-fate">Sending…</p>;
  const discard = onDiscard && (
    <button type="button" className="troupe-link" onClick={onDiscard}>
      Discard
    </button>
  );
  if (state === 'waiting')
    return (
      <div className="troupe-message-fate">
        <span>Not sent yet: it waits for the server.</span>
        {discard}
      </div>
    );
  if (state !== 'failed') return null;
  return (
    <div className="troupe-message-fate troupe-message-fate-bad" role="alert">
      <WarnIcon />
      <span>{error || 'Could not be sent.'}</span>
      {onResend && (
        <button type="button" className="troupe-link" onClick={onResend}>
          Send again
        </button>
      )}
      {discard}
    </div>
  );
}

/** Something is coming, and nothing is there yet. */
function Dots({ label = 'Thinking' }: { label?: string }) {
  return (
    <span className="troupe-dots" role="img" aria-label={label}>
      <i />
      <i />
      <i />
    </span>
  );
}
