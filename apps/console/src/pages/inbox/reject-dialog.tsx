import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Field, TextArea } from '../../blocks/field.tsx';

export function RejectDialog({
  count,
  onReject,
  onClose,
}: {
  count: number;
  onReject: (reason: string) => void;
  onClose: () => void;
}) {
  const [reason, setReason] = useState('');
  return (
    <Dialog open onClose={onClose} title={count === 1 ? 'Reject the call' : `Reject ${count} calls`}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          onReject(reason.trim());
        }}
      >
        <Field label="Why" hint="The agent is told. May be left empty.">
          {(ids) => (
            <TextArea
              {...ids}
              rows={3}
              maxLength={2_000}
              value={reason}
              onChange={({ target }) => setReason(target.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.metaKey || event.ctrlKey))
                  event.currentTarget.form?.requestSubmit();
              }}
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" kind="danger">
            Reject
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
