import type { Tools } from '../kernel/ports.ts';
import { builtinTools } from './builtin/index.ts';

export interface ToolsOptions {
  now?(): Date;
}

/** Resolves what this process can execute: for now the tools of the provider `builtin`. */
export function createTools({ now = () => new Date() }: ToolsOptions = {}): Tools {
  const builtin = builtinTools({ now });
  return { resolve: ({ provider, name }) => (provider === 'builtin' ? builtin.get(name) : undefined) };
}
