import { createHash } from 'node:crypto';
import type { Tool } from '@modelcontextprotocol/client';
import type { Json } from '@troupe/protocol';
import { canonicalJson } from '../../base/index.ts';

/** A tool as a server describes it, with the hash that says whether it still does. */
export interface Definition {
  tool: Tool;
  hash: string;
}

/** Of all that says what a call means and does. Titles, icons and what servers add for themselves may change freely. */
export function definitionOf(tool: Tool): Definition {
  const { name, description = '', inputSchema, outputSchema, annotations } = tool;
  const counted = { name, description, inputSchema, outputSchema, annotations } as unknown as Json;
  return { tool, hash: createHash('sha256').update(canonicalJson(counted)).digest('hex') };
}
