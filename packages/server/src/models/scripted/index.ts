/**
 * scripted: a model for tests that gives exact answers, and fails, stalls and waits on command.
 * It keeps no place: which turn comes next is read from the request, so any process with the same script goes on.
 * Imports: as the room.
 * Start reading: turn.ts (what a script can say), choose.ts (which turn), play.ts (how it is given).
 */
export { createScripted, type Scripted, type ScriptedOptions } from './scripted.ts';
export type { Script, Turn } from './turn.ts';
