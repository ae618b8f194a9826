import { useId, useState } from 'react';

export interface AnswerFormProps {
  /** Rejects if the server refuses the answer; the message is then shown. */
  onAnswer: (answer: string) => Promise<void> | void;
  /** An answer is being sent from elsewhere. */
  busy?: boolean | undefined;
  /** Why the last answer was refused. */
  problem?: string | null | undefined;
}

/** Answers the question of a sub-agent. */
export function AnswerForm({ onAnswer, busy, problem }: AnswerFormProps) {
  const id = useId();
  const [text, setText] = useState('');
  const [isSending, setSending] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);
  const isBusy = busy || isSending;
  const send = async () => {
    if (isBusy || text.trim() === '') return;
    setSending(true);
    setRefused(null);
    try {
      await onAnswer(text.trim());
      setText('');
    } catch (error) {
      setRefused(error instanceof Error ? error.message : String(error));
    } finally {
      setSending(false);
    }
  };
  const shown = refused ?? problem;
  return (
    <form
      className="troupe-form"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <div className="troupe-field">
        <label className="troupe-label" htmlFor={id}>
          Your answer
        </label>
        <textarea
          id={id}
          className="troupe-input"
          rows={2}
          maxLength={60_000}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send();
          }}
        />
      </div>
      {shown && (
        <p className="troupe-problem" role="alert">
          {shown}
        </p>
      )}
      <div className="troupe-form-buttons">
        <button
          type="submit"
          className="troupe-button troupe-button-main"
          disabled={text.trim() === ''}
          aria-disabled={isBusy || undefined}
        >
          {isBusy ? 'Sending…' : 'Send answer'}
        </button>
      </div>
    </form>
  );
}
