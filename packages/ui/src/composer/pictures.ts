import type { Api } from '@troupe/react';

/** What models take, and how much of it the contract does. */
const TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
const MOST_BYTES = 4_500_000;
export const ACCEPTED = TYPES.join(',');

export interface AttachedPicture {
  id: string;
  name: string;
  size: number;
  part: Extract<Api.ContentPart, { type: 'image' }>;
}

/** The picture as a part of a message; throws a sentence where it cannot be one. */
export async function readPicture(file: File): Promise<AttachedPicture> {
  const type = TYPES.find((one) => one === file.type);
  if (!type) throw new Error(`${file.name} is no picture that can be sent: PNG, JPEG, WebP or GIF.`);
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than 4.5 MB.`);
  const base64 = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(new Error(`${file.name} could not be read.`));
    reader.readAsDataURL(file);
  });
  return {
    id: crypto.randomUUID(),
    name: file.name,
    size: file.size,
    part: { type: 'image', base64, mediaType: type },
  };
}
