import type { ContentPart, Json, JsonObject } from '@troupe/protocol';

// Images, sound and files in the result of a tool: blocks of its `content`, in the form that the Model Context Protocol
// defines. They are stored with the result; models and size limits see the result without them.

/** Base64 characters of all media of one result: about 1.5 MB of data. */
export const MAX_MEDIA = 2_000_000;

type ImageType = NonNullable<Extract<ContentPart, { type: 'image' }>['mediaType']>;

export interface SplitResult {
  /** The result with a description in place of each piece of data. */
  output: Json;
  /** Images for models that accept them. */
  images: ContentPart[];
  /** Characters of base64 that were taken out. */
  size: number;
}

/** The result without its media, and the images among them. */
export function splitMedia(output: Json): SplitResult {
  const images: ContentPart[] = [];
  let size = 0;
  const bare = eachMedia(output, (media) => {
    size += media.data.length;
    const mediaType = media.type === 'image' ? imageType(media.data) : null;
    if (mediaType !== null) images.push({ type: 'image', base64: media.data, mediaType });
    return described(media, mediaType === null ? 'The content is not shown to models.' : undefined);
  });
  return { output: bare, images, size };
}

/** The result as it is stored: invalid and oversized media are left out, with a note. */
export function boundMedia(output: Json): Json {
  let left = MAX_MEDIA;
  return eachMedia(output, (media) => {
    const data = media.data.replaceAll(/\s+/g, '');
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data))
      return described(media, 'The content is left out: it is not valid base64.');
    if (data.length > left)
      return described(media, `The content is left out: more than ${MAX_MEDIA} characters of base64.`);
    left -= data.length;
    return { ...media.block, [media.field]: data };
  });
}

/** The media type by the first bytes of an image, not by its declared type; null: models do not accept such an image. */
export function imageType(base64: string): ImageType | null {
  const head = Buffer.from(base64.slice(0, 24), 'base64');
  const text = head.toString('latin1');
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif';
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP') return 'image/webp';
  return null;
}

interface Media {
  type: 'image' | 'audio' | 'resource';
  block: JsonObject;
  field: 'data' | 'blob';
  data: string;
}

function eachMedia(output: Json, replace: (media: Media) => JsonObject): Json {
  if (output === null || typeof output !== 'object' || Array.isArray(output)) return output;
  const { content } = output;
  if (!Array.isArray(content) || !content.some((block) => mediaIn(block))) return output;
  const blocks = content.map((block) => {
    const media = mediaIn(block);
    return media ? replace(media) : block;
  });
  return { ...output, content: blocks };
}

function mediaIn(block: Json): Media | null {
  if (block === null || typeof block !== 'object' || Array.isArray(block)) return null;
  const { type } = block;
  if (type !== 'image' && type !== 'audio' && type !== 'resource') return null;
  const field = type === 'resource' ? 'blob' : 'data';
  const data = block[field];
  return typeof data === 'string' && data !== '' ? { type, block, field, data } : null;
}

function described({ block, field, data }: Media, note?: string): JsonObject {
  const { [field]: _, ...rest } = block;
  return { ...rest, bytes: Buffer.byteLength(data, 'base64'), ...(note ? { note } : {}) };
}
