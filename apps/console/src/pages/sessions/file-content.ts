import type { Session } from '@troupe/sdk';

export type Files = Session['files'];

const SHOWN_BYTES = 1_000_000;

type FileContent =
  | { kind: 'text'; text: string; isCut: boolean }
  | { kind: 'picture'; picture: Blob }
  | { kind: 'bytes' };

/** Pictures are told by their first bytes: what a name says may be anything. SVG is text here, since it could hold scripts. */
function pictureType(bytes: Uint8Array): string | null {
  const [a, b, c, d] = bytes;
  if (a === 0x89 && b === 0x50 && c === 0x4e && d === 0x47) return 'image/png';
  if (a === 0xff && b === 0xd8 && c === 0xff) return 'image/jpeg';
  if (a === 0x47 && b === 0x49 && c === 0x46) return 'image/gif';
  if (a === 0x52 && b === 0x49 && c === 0x46 && d === 0x46 && bytes[8] === 0x57) return 'image/webp';
  return null;
}

export async function readFile(files: Files, path: string): Promise<FileContent> {
  const bytes = await files.readBytes(path);
  const type = pictureType(bytes);
  if (type) return { kind: 'picture', picture: new Blob([bytes as BlobPart], { type }) };
  const isCut = bytes.length > SHOWN_BYTES;
  const shown = bytes.subarray(0, SHOWN_BYTES);
  if (shown.includes(0)) return { kind: 'bytes' };
  return { kind: 'text', text: new TextDecoder().decode(shown), isCut };
}

/** Through the client and not by an address, which would be asked for without the key. */
export async function saveFile(files: Files, path: string): Promise<void> {
  const bytes = await files.readBytes(path);
  const address = URL.createObjectURL(new Blob([bytes as BlobPart], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = path.split('/').at(-1) || 'file';
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
