import type { Kysely, RawBuilder, Sql } from 'kysely';
import { lazy } from '../base/index.ts';

/** The query builder serves definitions and lists. The kernel's statements are plain SQL and do not load it. */
export const kysely = lazy<typeof import('kysely')>('kysely');

/** The tag of kysely, as far as it is used here. */
export const sql: Pick<Sql, 'raw' | 'lit'> &
  (<T = unknown>(parts: TemplateStringsArray, ...values: unknown[]) => RawBuilder<T>) = Object.assign(
  <T>(parts: TemplateStringsArray, ...values: unknown[]) => kysely().sql<T>(parts, ...values),
  {
    raw: <T = unknown>(text: string) => kysely().sql.raw<T>(text),
    lit: <T = unknown>(value: T) => kysely().sql.lit<T>(value),
  },
);

export type { Kysely, RawBuilder };
