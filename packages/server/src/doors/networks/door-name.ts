/** What runs of this door are marked with. */
export const DOOR = 'network';
/** A run has a thread of its own, and reads all of it. */
export const HISTORY = 1_000_000;
