/**
 * memories: the memories and goals that an agent keeps between runs, and their part of the prompt.
 * Imports: definitions/capabilities, store, base, protocol.
 * Start reading: memories.ts, goals.ts; owner.ts (whose they are); prompt-part.ts.
 */
export { createGoal, deleteGoal, getGoal, listGoals, updateGoal } from './goals.ts';
export { deleteMemory, getMemory, listMemories, setMemories, setMemory } from './memories.ts';
export { rememberedPart } from './prompt-part.ts';
