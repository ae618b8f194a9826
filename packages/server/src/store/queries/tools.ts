import type { JsonObject, ToolEffect, ToolKind } from '@troupe/protocol';
import { sql } from 'kysely';
import type { Transaction } from '../transaction.ts';

export interface ToolRow {
  id: string;
  name: string;
  display_name: string | null;
  description: string;
  kind: ToolKind;
  input_schema: JsonObject;
  effect: ToolEffect;
  approval: boolean;
  visible: boolean;
  /** What the kind needs, and the rest: see `toolDefinition` of the contract. */
  config: JsonObject;
  version: number;
  created_at: Date;
  updated_at: Date;
}

export function selectTools(rows: Transaction, project: string) {
  return rows
    .selectFrom('tools')
    .where('project_id', '=', project)
    .select([
      'id',
      'name',
      'display_name',
      'description',
      'effect',
      'approval',
      'visible',
      'version',
      'created_at',
      'updated_at',
      sql<ToolKind>`kind`.as('kind'),
      sql<JsonObject>`input_schema`.as('input_schema'),
      sql<JsonObject>`config`.as('config'),
    ]);
}

/** Those of the names that there are, in no order. Locked, they can be neither deleted nor changed until the transaction ends. */
export async function toolsNamed(
  rows: Transaction,
  project: string,
  names: readonly string[],
  { keep = false }: { keep?: boolean } = {},
): Promise<ToolRow[]> {
  if (names.length === 0) return [];
  const folded = names.map((name) => name.toLowerCase());
  const found = selectTools(rows, project).where(sql<string>`lower(name)`, 'in', folded);
  return (keep ? found.orderBy('id').forShare() : found).execute();
}
