/**
 * demo: a rule-based model that needs no key, for people trying Troupe. It says so when asked.
 * It has no memory of its own: what it knows is in the conversation it is given.
 * Imports: as the room.
 * Start reading: reply.ts (the rules, in order), demo.ts (how a reply becomes an answer).
 */
export { createDemo, type DemoOptions } from './demo.ts';
