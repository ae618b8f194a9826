import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Time } from '@troupe/ui';
import { Download, FileText, FolderOpen, Trash2, Upload } from 'lucide-react';
import { lazy, Suspense, useRef, useState } from 'react';
import { Button, IconButton } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/form.tsx';
import { Empty, Loaded } from '../../blocks/states.tsx';
import { say, sayError } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { formatBytes } from '../../data/format.ts';
import { saveFile } from './file-content.ts';
import { filesQuery } from './queries.ts';

const FileView = lazy(() => import('./file-view.tsx'));

export function FilesPanel({
  agentId,
  sessionId,
  open,
  onOpen,
}: {
  agentId: string;
  sessionId: string;
  /** The path of the one that is looked at. */
  open: string | undefined;
  onOpen: (path: string | undefined) => void;
}) {
  const client = useQueryClient();
  const files = useQuery(filesQuery(agentId, sessionId));
  const held = troupe.session(agentId, sessionId).files;
  const picker = useRef<HTMLInputElement>(null);
  const [deleted, setDeleted] = useState<string | null>(null);
  const after = () => client.invalidateQueries({ queryKey: ['sessions', 'files', sessionId] });
  const upload = useMutation({
    mutationFn: async (chosen: File[]) => {
      for (const file of chosen) await held.write(`/${file.name}`, new Uint8Array(await file.arrayBuffer()));
      return chosen.length;
    },
    onSuccess: (count) => say(count === 1 ? 'The file is there.' : `${count} files are there.`),
    onError: sayError,
    onSettled: after,
  });
  const uploadButton = (
    <Button size="small" busy={upload.isPending} icon={Upload} onClick={() => picker.current?.click()}>
      Upload
    </Button>
  );
  return (
    <section
      aria-label="Files"
      className="min-h-full"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        if (event.dataTransfer.files.length > 0) upload.mutate([...event.dataTransfer.files]);
      }}
    >
      <input
        ref={picker}
        type="file"
        multiple
        aria-label="Files to upload"
        className="sr-only"
        tabIndex={-1}
        onChange={({ target }) => {
          if (target.files?.length) upload.mutate([...target.files]);
          target.value = '';
        }}
      />
      <Loaded query={files}>
        {({ data, totals }) =>
          data.length === 0 ? (
            <Empty icon={FolderOpen} title="No files" action={uploadButton}>
              What the agent writes is here, and what you upload or drop, for the agent to read.
            </Empty>
          ) : (
            <>
              <div className="flex items-center justify-between gap-2 px-4 py-2">
                <p className="text-xs text-faint tabular-nums">
                  {totals.files === 1 ? '1 file' : `${totals.files} files`}, {formatBytes(totals.bytes)}
                </p>
                {uploadButton}
              </div>
              <ul className="divide-y divide-line border-t border-line">
                {data.map((file) => (
                  <FileLine
                    key={file.path}
                    file={file}
                    onOpen={() => onOpen(file.path)}
                    onSave={() => void saveFile(held, file.path).catch(sayError)}
                    onDelete={() => setDeleted(file.path)}
                  />
                ))}
              </ul>
            </>
          )
        }
      </Loaded>
      {open !== undefined && (
        <Suspense>
          <FileView
            path={open}
            file={files.data?.data.find(({ path }) => path === open)}
            files={held}
            sessionId={sessionId}
            onClose={() => onOpen(undefined)}
          />
        </Suspense>
      )}
      <Confirm
        open={deleted !== null}
        onClose={() => setDeleted(null)}
        title="Delete the file?"
        label="Delete the file"
        act={async () => {
          await held.delete(deleted!);
          await after();
        }}
      >
        <span className="break-all">{deleted}</span> goes for good.
      </Confirm>
    </section>
  );
}

function FileLine({
  file,
  onOpen,
  onSave,
  onDelete,
}: {
  file: Api.File;
  onOpen: () => void;
  onSave: () => void;
  onDelete: () => void;
}) {
  return (
    <li className="flex items-center gap-2 px-4 py-1.5 hover:bg-hover">
      <FileText size={16} aria-hidden="true" className="shrink-0 text-faint" />
      <div className="min-w-0 flex-1">
        <button
          type="button"
          onClick={onOpen}
          title={file.path}
          className="block max-w-full truncate rounded-sm text-left text-sm hover:underline"
        >
          {file.path}
        </button>
        <p className="truncate text-xs text-faint tabular-nums">
          {formatBytes(file.size)} · <Time value={file.updatedAt} />
        </p>
      </div>
      <IconButton label={`Download ${file.path}`} icon={Download} onClick={onSave} />
      <IconButton label={`Delete ${file.path}`} icon={Trash2} onClick={onDelete} />
    </li>
  );
}
