import { type Encryption, secretOf } from '../access/index.ts';
import type { Outgoing } from '../outgoing/index.ts';
import type { Database } from '../store/index.ts';
import type { ToolParts } from '../tools/index.ts';
import { openOutgoing } from './allow-lists.ts';
import { findingsIn } from './findings.ts';

/** What the tools get of the rest of the server: one field for each part, made here and nowhere else. */
export function toolParts(
  db: Database,
  encryption: Encryption,
  outgoing: Outgoing = openOutgoing(() => db),
): Partial<ToolParts> {
  return {
    now: () => new Date(),
    secrets: { reveal: (project, name) => secretOf(db, encryption, project, name) },
    outgoing,
    findings: findingsIn(db),
  };
}
