import type { Api } from '@troupe/react';
import { sizeText } from '../basic/code.tsx';
import { FileIcon } from '../basic/icons.tsx';
import { safeLink } from './addresses.ts';
import { Picture } from './picture.tsx';

export interface ShownFile {
  name: string;
  size?: number | undefined;
  type?: string | undefined;
  /** Where it can be had, or what happens when it is asked for. */
  href?: string | undefined;
  onOpen?: (() => void) | undefined;
}

export interface AttachmentsProps {
  parts?: readonly Api.ContentPart[] | undefined;
  files?: readonly ShownFile[] | undefined;
  /** Text of the message: parts that say the same are not shown twice. */
  text?: string | undefined;
}

export function Attachments({ parts = [], files = [], text = '' }: AttachmentsProps) {
  const said = squeeze(text);
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const isSaid = said !== '' && squeeze(texts.join(' ')) === said;
  return (
    <ul className="troupe-attachments">
      {parts.map((part, index) =>
        part.type === 'image' ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of a message never move
          <li key={index}>
            <Picture src={addressOf(part)} alt="Attached picture" />
          </li>
        ) : isSaid ? null : (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of a message never move
          <li key={index} className="troupe-message-text" dir="auto">
            {part.text}
          </li>
        ),
      )}
      {files.map((file) => (
        <li key={file.name}>
          <FileChip file={file} />
        </li>
      ))}
    </ul>
  );
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function addressOf(part: Extract<Api.ContentPart, { type: 'image' }>): string | undefined {
  return part.url ?? (part.base64 && `data:${part.mediaType ?? 'image/png'};base64,${part.base64}`);
}

function FileChip({ file }: { file: ShownFile }) {
  const inner = (
    <>
      <FileIcon />
      <span className="troupe-file-name">{file.name}</span>
      {file.size !== undefined && <span className="troupe-file-size">{sizeText(file.size)}</span>}
    </>
  );
  const link = safeLink(file.href) ?? (file.href?.startsWith('blob:') ? file.href : null);
  if (link) {
    return (
      <a className="troupe-file" href={link} download={file.name} rel="noopener">
        {inner}
      </a>
    );
  }
  if (!file.onOpen) return <span className="troupe-file">{inner}</span>;
  return (
    <button type="button" className="troupe-file" onClick={file.onOpen}>
      {inner}
    </button>
  );
}
