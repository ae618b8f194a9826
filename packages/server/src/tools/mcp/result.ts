import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { Json, JsonObject } from '@troupe/protocol';
import { boundMedia, splitMedia, TroupeError } from '../../base/index.ts';
import type { Hidden } from '../http/index.ts';

/** As for answers of http tools. */
const MOST_BYTES = 262_144;
const LONGEST_ERROR = 3_000;

/** What the model reads of a result. Throws where the server says that the call failed. */
export function outcomeOf(result: CallToolResult, hidden: Hidden): Json {
  const { content = [], structuredContent, isError } = result;
  if (isError) {
    const said = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
    const text = said.slice(0, LONGEST_ERROR).toWellFormed();
    throw new TroupeError(
      'mcp_tool_failed',
      hidden.cut(text).trim() || 'The tool failed without saying why.',
    );
  }
  if (structuredContent !== undefined && structuredContent !== null) {
    // The same stands there as text once more, for those who read nothing else.
    const rest = content.filter(({ type }) => type !== 'text').map((block) => blockOf(block));
    const structured = structuredContent as Json;
    return bounded(rest.length > 0 ? { structured, content: rest } : structured, hidden);
  }
  if (content.every(({ type }) => type === 'text')) {
    const text = content.map((block) => (block as { text: string }).text).join('\n');
    // Hiding takes its time, and more than this is not shown.
    return cutToFit(text.length > MOST_BYTES ? hidden.cut(text.slice(0, MOST_BYTES)) : hidden.text(text), {
      cut: text.length > MOST_BYTES,
    });
  }
  return bounded({ content: content.map((block) => blockOf(block)) }, hidden);
}

/** Media have a limit of their own. */
function bounded(outcome: Json, hidden: Hidden): Json {
  if (sizeOf(splitMedia(outcome).output) > MOST_BYTES) throw tooLarge();
  return hidden.json(boundMedia(outcome));
}

function tooLarge(): TroupeError {
  return new TroupeError(
    'response_too_large',
    `The result has more than ${MOST_BYTES} bytes. The call was carried out; ask for less.`,
  );
}

function blockOf(block: ContentBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
    case 'audio':
      return { type: block.type, mimeType: block.mimeType, data: block.data };
    case 'resource_link': {
      const { uri, name, description, mimeType } = block;
      return { type: 'resource_link', ...present({ uri, name, description, mimeType }) };
    }
    case 'resource': {
      const { uri, mimeType } = block.resource;
      const told = 'text' in block.resource ? { text: block.resource.text } : { blob: block.resource.blob };
      return { type: 'resource', ...present({ uri, mimeType }), ...told };
    }
    default:
      return { type: 'unknown', note: 'Something that cannot be shown here is left out.' };
  }
}

function present(fields: Record<string, string | undefined>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject;
}

function sizeOf(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function cutToFit(text: string, { cut }: { cut: boolean }): Json {
  if (!cut && sizeOf({ text }) <= MOST_BYTES) return { text };
  const note = 'The result was longer; the rest is left out.';
  let [least, most] = [0, Math.min(text.length, MOST_BYTES)];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (sizeOf({ text: text.slice(0, middle), note }) <= MOST_BYTES) least = middle;
    else most = middle - 1;
  }
  return { text: text.slice(0, least).toWellFormed(), note };
}
