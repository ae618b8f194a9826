import { type Encryption, secretToSend } from '../access/index.ts';
import { createOutgoing } from '../outgoing/index.ts';
import { allowedOutgoing, type Database } from '../store/index.ts';
import type { ToolParts } from '../tools/index.ts';

/** What the tools get of the rest of the server: one field for each part, made here and nowhere else. */
export function toolParts(db: Database, encryption: Encryption): Partial<ToolParts> {
  return {
    now: () => new Date(),
    secrets: { reveal: (project, name) => secretToSend(db, encryption, project, name) },
    outgoing: createOutgoing({ allowed: (project) => allowedOutgoing(db, project) }),
  };
}
