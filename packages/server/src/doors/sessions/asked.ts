import { type AskedWith, askedWith, type JsonObject } from '@troupe/protocol';

/** Where a user's message notes what it was posted with, beside what it says. Not there where it asked for nothing. */
export const ASKED_KEY = 'troupe:asked';

const NOTHING: AskedWith = { modelId: null, reasoningEffort: null, policy: null };

/** The caller's metadata with the note in it. A note of their own would be taken for one of ours. */
export function noteAsked(
  metadata: JsonObject,
  posting: { [Field in keyof AskedWith]?: AskedWith[Field] | undefined },
): JsonObject {
  const { [ASKED_KEY]: _, ...own } = metadata;
  const { modelId = null, reasoningEffort = null, policy = null } = posting;
  if (modelId === null && reasoningEffort === null && policy === null) return own;
  return { ...own, [ASKED_KEY]: { modelId, reasoningEffort, policy } };
}

export function askedIn(metadata: JsonObject | null): AskedWith {
  const noted = askedWith.safeParse(metadata?.[ASKED_KEY]);
  return noted.success ? noted.data : NOTHING;
}
