import { Button } from './button.tsx';
import { CopyText } from './copy-text.tsx';
import { Dialog } from './dialog.tsx';
import { Notice } from './states.tsx';

/** A secret that the server returns only when it is created. The dialog stays until it is closed by hand. */
export function ShownOnce({ title, text, onClose }: { title: string; text: string; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title={title}>
      <div className="flex flex-col gap-4">
        <Notice tone="warn">Copy it now. It is not shown again.</Notice>
        <CopyText text={text} label={title} />
        <div className="flex justify-end">
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
