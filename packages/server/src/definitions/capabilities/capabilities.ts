import type { Capability, JsonObject } from '@troupe/protocol';
import { z } from 'zod';
import { notFound } from '../../base/index.ts';
import { currentTime } from './current-time.ts';
import { delegation } from './delegation.ts';
import type { CapabilityEntry } from './entry.ts';
import { fileSystem } from './file-system.ts';
import { memory } from './memory.ts';
import { noop } from './noop.ts';
import { research } from './research.ts';
import { sandbox } from './sandbox.ts';
import { todoList } from './todo-list.ts';
import { webFetch } from './web-fetch.ts';
import { webSearch } from './web-search.ts';

/** All there are, in the order in which they are shown. */
const capabilities: readonly CapabilityEntry[] = [
  noop,
  currentTime,
  fileSystem,
  todoList,
  sandbox,
  memory,
  webFetch,
  webSearch,
  research,
  delegation,
];

const byId = new Map(capabilities.map((entry) => [entry.id, entry]));

/** As whoever sets it has to write it, so without what follows from defaults. */
const configSchemas = new Map(
  capabilities.map(({ id, config }) => {
    const { $schema, ...schema } = z.toJSONSchema(config, { io: 'input' });
    return [id, schema as JsonObject];
  }),
);

export function findCapability(id: string): CapabilityEntry | undefined {
  return byId.get(id);
}

export function listCapabilities(): Capability[] {
  return capabilities.map(summaryOf);
}

export function getCapability(id: string) {
  const entry = findCapability(id);
  if (!entry) throw notFound('capability');
  const tools = entry.tools.map(({ name, description }) => ({ name, description }));
  return { ...summaryOf(entry), prompt: entry.prompt, tools };
}

function summaryOf(entry: CapabilityEntry): Capability {
  const { id, name, description, status, icon, category, includes = [] } = entry;
  return { id, name, description, status, icon, category, configSchema: configSchemas.get(id)!, includes };
}
