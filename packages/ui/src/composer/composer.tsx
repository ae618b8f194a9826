import type { Api } from '@troupe/react';
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type Ref,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { classes } from '../basic/classes.ts';
import { sizeText } from '../basic/code.tsx';
import { ArrowUpIcon, ClipIcon, CrossIcon, StopIcon } from '../basic/icons.tsx';
import { draftOf, keepDraft } from './drafts.ts';
import { ACCEPTED, type AttachedPicture, readPicture } from './pictures.ts';

/** What somebody who is at work makes of a message. */
export type ComposerPolicy = Exclude<Api.BusyPolicy, 'reject'>;

export interface ComposedMessage {
  text: string;
  /** Pictures, where there are any. */
  parts?: Api.ContentPart[];
  /** Chosen while it is busy. */
  policy?: ComposerPolicy;
}

export interface ComposerProps {
  /** The field is emptied at once; where this rejects, what was written comes back unless something new was. */
  onSend: (message: ComposedMessage) => unknown;
  /** Work is going on: what is sent steers it or is queued, and it can be stopped. */
  busy?: boolean | undefined;
  onStop?: (() => Promise<void> | void) | undefined;
  /** What can be chosen while it is busy; the first is the usual one. Default: `steer` and `queue`. Empty: nothing to choose. */
  policies?: readonly ComposerPolicy[] | undefined;
  /** Why nothing can be sent. */
  disabledReason?: string | null | undefined;
  /** Whether pictures can be attached. */
  attachments?: boolean | undefined;
  placeholder?: string | undefined;
  label?: string | undefined;
  /** With every key, and false when it is empty or sent. */
  onTyping?: ((isTyping: boolean) => void) | undefined;
  autoFocus?: boolean | undefined;
  /** What it begins with. */
  initialText?: string | undefined;
  /** What is written and not sent is kept under this name until the tab is closed. Left out: for as long as it is shown. */
  draft?: string | undefined;
  ref?: Ref<ComposerHandle> | undefined;
}

export interface ComposerHandle {
  focus: () => void;
  /** Puts a text in, in place of what is there. */
  fill: (text: string) => void;
}

const policyWords: Record<ComposerPolicy, { label: string; hint: string }> = {
  steer: { label: 'Steer', hint: 'The run at work sees it with its next step' },
  queue: { label: 'Queue', hint: 'Answered when the work at hand is done' },
  interrupt: { label: 'Interrupt', hint: 'Stops the work at hand first' },
};
const USUAL: readonly ComposerPolicy[] = ['steer', 'queue'];

/** Enter sends, Shift+Enter begins a line. */
export function Composer(props: ComposerProps) {
  const { onSend, busy = false, onStop, policies = USUAL, disabledReason, attachments = false } = props;
  const { placeholder = 'Write a message…', label = 'Message', onTyping, autoFocus, draft, ref } = props;
  const [text, setText] = useState(() => props.initialText ?? (draft ? draftOf(draft) : ''));
  const [pictures, setPictures] = useState<readonly AttachedPicture[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const [chosen, setChosen] = useState<ComposerPolicy | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const id = useId();
  const policy = busy && policies.length > 0 ? (chosen ?? policies[0]) : undefined;
  const isEmpty = text.trim() === '' && pictures.length === 0;
  const canSend = !isEmpty && !disabledReason;

  useImperativeHandle(ref, () => ({
    focus: () => field.current?.focus(),
    fill: (given) => {
      setText(given);
      field.current?.focus();
    },
  }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is what makes it grow
  useLayoutEffect(() => grow(field.current), [text]);

  useEffect(() => {
    if (draft) keepDraft(draft, text);
  }, [draft, text]);

  const send = async () => {
    if (!canSend) return;
    const [wasText, wasPictures] = [text, pictures];
    setText('');
    setPictures([]);
    setProblem(null);
    onTyping?.(false);
    field.current?.focus();
    try {
      await onSend({
        text: wasText.trim(),
        ...(wasPictures.length > 0 ? { parts: wasPictures.map(({ part }) => part) } : {}),
        ...(policy ? { policy } : {}),
      });
    } catch (error) {
      setText((now) => (now === '' ? wasText : now));
      setPictures((now) => (now.length === 0 ? wasPictures : now));
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const attach = async (files: Iterable<File>) => {
    for (const file of files) {
      try {
        const picture = await readPicture(file);
        setPictures((known) => [...known, picture].slice(0, 16));
        setProblem(null);
      } catch (error) {
        setProblem((error as Error).message);
      }
    }
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // Enter that ends the composition of a character is not meant to send.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (!attachments || files.length === 0) return;
    event.preventDefault();
    void attach(files);
  };

  return (
    <form
      className={classes('troupe-composer', disabledReason && 'troupe-composer-disabled')}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => attachments && event.preventDefault()}
      onDrop={(event) => {
        if (!attachments) return;
        event.preventDefault();
        void attach([...event.dataTransfer.files]);
      }}
    >
      {pictures.length > 0 && (
        <ul className="troupe-composer-files">
          {pictures.map((picture) => (
            <li key={picture.id} className="troupe-file">
              <img src={`data:${picture.part.mediaType};base64,${picture.part.base64}`} alt="" />
              <span className="troupe-file-name">{picture.name}</span>
              <span className="troupe-file-size">{sizeText(picture.size)}</span>
              <button
                type="button"
                className="troupe-button troupe-button-quiet troupe-button-icon"
                aria-label={`Remove ${picture.name}`}
                onClick={() => setPictures((known) => known.filter((one) => one !== picture))}
              >
                <CrossIcon />
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={field}
        className="troupe-composer-field"
        rows={1}
        value={text}
        placeholder={disabledReason ?? placeholder}
        aria-label={label}
        aria-describedby={problem || disabledReason ? `${id}-problem` : undefined}
        disabled={Boolean(disabledReason)}
        // biome-ignore lint/a11y/noAutofocus: whoever puts it in the page decides
        autoFocus={autoFocus}
        onChange={(event) => {
          setText(event.target.value);
          onTyping?.(event.target.value !== '');
        }}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      {(problem || disabledReason) && (
        <p
          id={`${id}-problem`}
          className={problem ? 'troupe-field-problem' : 'troupe-hidden'}
          role={problem ? 'alert' : undefined}
        >
          {problem ?? disabledReason}
        </p>
      )}
      <div className="troupe-composer-bar">
        {attachments && (
          <>
            <input
              ref={picker}
              className="troupe-hidden"
              type="file"
              accept={ACCEPTED}
              multiple
              tabIndex={-1}
              aria-label="Pictures to attach"
              onChange={(event) => {
                void attach([...(event.target.files ?? [])]);
                event.target.value = '';
              }}
            />
            <button
              type="button"
              className="troupe-button troupe-button-quiet troupe-button-icon"
              aria-label="Attach a picture"
              title="Attach a picture"
              disabled={Boolean(disabledReason)}
              onClick={() => picker.current?.click()}
            >
              <ClipIcon />
            </button>
          </>
        )}
        {busy && policies.length > 1 && (
          <fieldset className="troupe-segments">
            <legend className="troupe-hidden">While it is at work</legend>
            {policies.map((one) => (
              <label key={one} className="troupe-segment" title={policyWords[one].hint}>
                <input
                  type="radio"
                  name={`${id}-policy`}
                  checked={policy === one}
                  onChange={() => setChosen(one)}
                />
                <span>{policyWords[one].label}</span>
              </label>
            ))}
          </fieldset>
        )}
        <span className="troupe-composer-hint">
          {busy && policy ? policyWords[policy].hint : 'Enter sends, Shift+Enter starts a new line'}
        </span>
        <span className="troupe-composer-go">
          {busy && onStop && (
            <button type="button" className="troupe-button" onClick={() => void onStop()}>
              <StopIcon />
              <span>Stop</span>
            </button>
          )}
          <button
            type="submit"
            className={classes('troupe-button troupe-button-main', !busy && 'troupe-button-icon')}
            aria-label={policy ? policyWords[policy].label : 'Send'}
            title={policy ? policyWords[policy].hint : 'Send'}
            disabled={!canSend}
          >
            <ArrowUpIcon />
            {busy && policy && <span>{policyWords[policy].label}</span>}
          </button>
        </span>
      </div>
    </form>
  );
}

const TALLEST = 240;

function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = 'auto';
  field.style.height = `${Math.min(field.scrollHeight, TALLEST)}px`;
  field.style.overflowY = field.scrollHeight > TALLEST ? 'auto' : 'hidden';
}
