/**
 * doors/spaces: many people and many agents in one conversation. What a run is told and may do, what starts it, what people do.
 * Imports: kernel, agents, store, base, protocol.
 * Start reading: say.ts (a message and the runs that it starts), door.ts (a run), prompt.ts (what it is told), acts.ts (what it does).
 */
export { spaceActs } from './acts.ts';
export { createSpacesDoor } from './door.ts';
export { getSpaceMessage, listSpaceMessages, listSpaceRuns } from './messages.ts';
export { postToSpace } from './post.ts';
