import { useState } from 'react';
import { TextAreaField } from '../../blocks/field.tsx';
import { FormDialog } from '../../blocks/form.tsx';

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
  const label = count === 1 ? 'Reject call' : `Reject ${count} calls`;
  return (
    <FormDialog onClose={onClose} title={label} submit={label} act={async () => onReject(reason)}>
      <TextAreaField
        label="Reason"
        hint="Optional. The agent reads it."
        rows={3}
        maxLength={2_000}
        value={reason}
        onChange={setReason}
      />
    </FormDialog>
  );
}
