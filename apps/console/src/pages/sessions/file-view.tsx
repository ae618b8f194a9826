import { useQuery } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { Code } from '@troupe/ui';
import { Download } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Dialog } from '../../blocks/dialog.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { sayError } from '../../blocks/toast.tsx';
import { formatBytes } from '../../data/format.ts';
import { type Files, readFile, saveFile } from './file-content.ts';

export default function FileView({
  path,
  file,
  files,
  sessionId,
  onClose,
}: {
  path: string;
  file: Api.File | undefined;
  files: Files;
  sessionId: string;
  onClose: () => void;
}) {
  const content = useQuery({
    // Asked for anew when the file was written anew, and not with everything else of the session.
    queryKey: ['file content', sessionId, path, file?.updatedAt],
    queryFn: () => readFile(files, path),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Dialog open onClose={onClose} title={<span title={path}>{path}</span>} wide>
      <div className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center justify-between gap-2">
          <p className="text-xs text-faint">
            {file ? `${formatBytes(file.size)}, ${file.type}` : 'It is not in the list any more.'}
          </p>
          <Button size="small" icon={Download} onClick={() => void saveFile(files, path).catch(sayError)}>
            Download
          </Button>
        </div>
        <Loaded query={content}>
          {(shown) => {
            if (shown.kind === 'picture') return <ShownPicture picture={shown.picture} alt={path} />;
            if (shown.kind === 'bytes')
              return <Notice>This is no text. Download it to see what it is.</Notice>;
            return (
              <>
                {shown.isCut && <Notice tone="warn">Only its beginning is shown.</Notice>}
                <Code text={shown.text} language={path.split('.').at(-1)} label={path} />
              </>
            );
          }}
        </Loaded>
      </div>
    </Dialog>
  );
}

/** Its address holds the picture in memory: no longer than it is shown. */
function ShownPicture({ picture, alt }: { picture: Blob; alt: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(picture);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [picture]);
  return <img src={address} alt={alt} className="mx-auto max-h-[60vh] max-w-full" />;
}
