import { useMemo } from 'react';
import { sizeText } from '../basic/code.tsx';
import { FileIcon } from '../basic/icons.tsx';
import { Json } from '../basic/json.tsx';
import { Picture } from '../message/picture.tsx';

// Images, sound and files that a tool returned: blocks of the `content` of its output, as MCP servers return them.

interface Media {
  type: 'image' | 'audio' | 'resource';
  mimeType: string;
  data: string;
  name: string;
}

export interface ToolOutputProps {
  output: unknown;
  /** The name of the tool. */
  tool: string;
  lines?: number | undefined;
}

/** The output of a tool: images, sound and files, and the rest as JSON. */
export function ToolOutput({ output, tool, lines }: ToolOutputProps) {
  const { bare, media } = useMemo(() => splitMedia(output), [output]);
  return (
    <>
      {media.length > 0 && <ToolMedia media={media} tool={tool} />}
      <Json value={bare} label="Output" lines={lines} />
    </>
  );
}

/** The media of an output, and the output without their data. */
function splitMedia(output: unknown): { bare: unknown; media: Media[] } {
  const content = (output as { content?: unknown } | null)?.content;
  if (typeof output !== 'object' || !Array.isArray(content)) return { bare: output, media: [] };
  const media: Media[] = [];
  const blocks = content.map((block: unknown) => {
    const found = mediaIn(block);
    if (!found) return block;
    media.push(found);
    const { data: _, blob: __, ...rest } = block as Record<string, unknown>;
    return { ...rest, bytes: bytesOf(found.data) };
  });
  return media.length === 0 ? { bare: output, media } : { bare: { ...output, content: blocks }, media };
}

function ToolMedia({ media, tool }: { media: readonly Media[]; tool: string }) {
  return (
    <ul className="troupe-attachments">
      {media.map((one, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the media of a result never move
        <li key={index}>
          <Shown {...one} tool={tool} />
        </li>
      ))}
    </ul>
  );
}

function Shown({ type, mimeType, data, name, tool }: Media & { tool: string }) {
  if (type === 'image') return <Picture src={`data:${mimeType};base64,${data}`} alt={`Image from ${tool}`} />;
  if (type === 'audio') {
    // biome-ignore lint/a11y/useMediaCaption: a tool returns sound without a text
    return <audio controls src={`data:${mimeType};base64,${data}`} aria-label={`Sound from ${tool}`} />;
  }
  // The file is untrusted, so it has a media type that browsers only download.
  return (
    <a className="troupe-file" href={`data:application/octet-stream;base64,${data}`} download={name}>
      <FileIcon />
      <span className="troupe-file-name">{name}</span>
      <span className="troupe-file-size">{sizeText(bytesOf(data))}</span>
    </a>
  );
}

function mediaIn(block: unknown): Media | null {
  if (typeof block !== 'object' || block === null) return null;
  const { type, mimeType, data, blob, uri } = block as Record<string, unknown>;
  const given = type === 'resource' ? blob : data;
  if (typeof given !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(given)) return null;
  if (type === 'resource') {
    const name = typeof uri === 'string' ? uri.split('/').at(-1) : '';
    return { type, mimeType: 'application/octet-stream', data: given, name: name || 'file' };
  }
  if ((type !== 'image' && type !== 'audio') || typeof mimeType !== 'string') return null;
  return new RegExp(`^${type}/[\\w.+-]+$`).test(mimeType)
    ? { type, mimeType, data: given, name: type }
    : null;
}

function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
}
