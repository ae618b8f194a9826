import { useState } from 'react';
import { FileIcon } from '../basic/icons.tsx';
import { localImage, safeLink } from './addresses.ts';

interface PictureProps {
  src: string | null | undefined;
  alt?: string | null | undefined;
}

/** A picture from elsewhere is shown as its address: loading it would tell its server who reads this, and when. */
export function Picture({ src, alt }: PictureProps) {
  const [broken, setBroken] = useState<string | null>(null);
  const local = localImage(src);
  if (local && local !== broken)
    return (
      <img
        className="troupe-picture"
        src={local}
        alt={alt ?? ''}
        loading="lazy"
        onError={() => setBroken(local)}
      />
    );
  const link = safeLink(src);
  const words = alt || 'Picture';
  if (!link) return <span className="troupe-picture-link">{words}</span>;
  return (
    <a className="troupe-picture-link" href={link} target="_blank" rel="noopener noreferrer nofollow">
      <FileIcon />
      <span>{words}</span>
      <span className="troupe-picture-address">{link}</span>
    </a>
  );
}
