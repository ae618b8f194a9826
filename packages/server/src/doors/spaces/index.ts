/**
 * doors/spaces: many people and many agents share a conversation. What can be done to spaces, who is in them, and what they have read.
 * Imports: kernel, agents, store, base, protocol.
 * Start reading: spaces.ts (a space), members.ts (who is in it), read.ts (how far people have read, and who is typing).
 */
export * from './members.ts';
export * from './read.ts';
export * from './spaces.ts';
