/**
 * doors/spaces: many people and many agents in one conversation. What a run is told and may do, what starts it, what people do.
 * Imports: kernel, agents, store, base, protocol.
 * Start reading: say.ts (a message and the runs that it starts), door.ts (a run), prompt.ts (what it is told), acts.ts (what it
 * does); spaces.ts, members.ts, read.ts (what people do); fire-plan.ts, service.ts (what begins a run beside messages).
 */
export { noteDepth } from '../shared/index.ts';
export { spaceActs } from './acts.ts';
export { createSpacesDoor } from './door.ts';
export { firePlan } from './fire-plan.ts';
export { addMember, listMembers, removeMember, requireMember } from './members.ts';
export { getSpaceMessage, listSpaceMessages, listSpaceRuns } from './messages.ts';
export { postToSpace } from './post.ts';
export { findTyping, markRead } from './read.ts';
export { triggerAgent } from './service.ts';
export { createSpace, deleteSpace, getSpace, listSpaces, updateSpace } from './spaces.ts';
