import type { Connection } from '@troupe/react';
import type { ReactNode } from 'react';
import { OfflineIcon, WarnIcon } from '../basic/icons.tsx';
import { Time } from '../basic/time.tsx';
import { RetryButton } from './retry-button.tsx';

export function DayDivider({ at }: { at: string }) {
  return (
    <p className="troupe-divider">
      <Time value={at} format="day" />
    </p>
  );
}

export function NewDivider() {
  return (
    <p className="troupe-divider troupe-divider-new">
      <span>New</span>
    </p>
  );
}

/** Why what is shown may be out of date: it cannot be read any more, or for now. */
export function LineNotice({
  connection,
  error,
  isEmpty,
}: {
  connection: Connection;
  error: Error | null;
  /** Then what is wrong stands in place of the messages. */
  isEmpty: boolean;
}) {
  return (
    <div role="status">
      {error && !isEmpty && (
        <p className="troupe-notice troupe-notice-bad">
          <WarnIcon />
          <span>{error.message} What you see was read before.</span>
        </p>
      )}
      {connection === 'offline' && !error && (
        <p className="troupe-notice troupe-notice-warn">
          <OfflineIcon />
          <span>
            Offline. What you see may be out of date; what you send goes out when the connection is back.
          </span>
        </p>
      )}
    </div>
  );
}

export function MissingNotice({ isMissing }: { isMissing: boolean }) {
  return (
    <div role="status">
      {isMissing && (
        <p className="troupe-notice troupe-notice-warn">
          <WarnIcon />
          <span>The message that the link leads to could not be found here.</span>
        </p>
      )}
    </div>
  );
}

export interface FailureProps {
  message: string;
  code?: string | undefined;
  onRetry?: (() => void) | undefined;
  isRetrying?: boolean | undefined;
  children?: ReactNode;
}

export function Failure({ message, code, onRetry, isRetrying, children }: FailureProps) {
  return (
    <div className="troupe-notice troupe-notice-bad" role="alert">
      <WarnIcon />
      <div className="troupe-notice-text">
        <p>{message}</p>
        {code && <code>{code}</code>}
        {children}
      </div>
      {onRetry && (
        <RetryButton label="Try again" busyLabel="Trying…" isBusy={isRetrying ?? false} onRetry={onRetry} />
      )}
    </div>
  );
}

export interface EmptyChatProps {
  title: string;
  text?: string | undefined;
  suggestions?: readonly string[] | undefined;
  onPick?: ((text: string) => void) | undefined;
  children?: ReactNode;
}

export function EmptyChat({ title, text, suggestions = [], onPick, children }: EmptyChatProps) {
  return (
    <div className="troupe-chat-empty">
      <p className="troupe-chat-empty-title">{title}</p>
      {text && <p>{text}</p>}
      {children}
      {suggestions.length > 0 && (
        <ul className="troupe-suggestions">
          {suggestions.map((suggestion) => (
            <li key={suggestion}>
              <button type="button" className="troupe-suggestion" onClick={() => onPick?.(suggestion)}>
                {suggestion}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Something will be here. */
export function LoadingChat() {
  return (
    <div className="troupe-chat-loading" role="status">
      <span className="troupe-hidden">Loading messages</span>
      {[62, 84, 48].map((width) => (
        <span key={width} className="troupe-skeleton" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
