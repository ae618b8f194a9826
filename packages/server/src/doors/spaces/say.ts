import { RetryableError } from '../../base/index.ts';
import { patiently } from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import type { Parts } from './parts.ts';
import { startingAgents } from './starting.ts';

/** The members may change between the look and the post; they do not change for ever. */
const TRIES = 10;

/** Stores a message and the runs that it starts, as one, and lets everybody know who has to. */
export async function say(
  { db, kernel }: Parts,
  post: Omit<store.SpacePost, 'agents'>,
): Promise<store.SpacePosted> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const asked = { project: post.project, space: post.space, except: post.message.sender };
    const agents = post.starts ? await startingAgents(db, asked) : [];
    const posted = await patiently(() => store.postToSpace(db, { ...post, agents }));
    if (!posted.ok && posted.code === 'members_changed') continue;
    if (posted.ok && !posted.duplicate) {
      kernel.touched(post.space);
      for (const { thread } of posted.runs) kernel.touched(thread);
      kernel.changed({ queued: posted.runs.length + posted.resumed.length > 0, started: posted.runs.length });
    }
    return posted;
  }
  throw new RetryableError('members_changed', 'The members of the space kept changing. Nothing was said.', {
    retryAfterMs: 500,
  });
}
