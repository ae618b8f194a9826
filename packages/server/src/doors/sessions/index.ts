/**
 * doors/sessions: a person talks with one agent. What the model sees of the conversation, what its answer means, and what can
 * be done to sessions and their messages.
 * Imports: doors/shared, runs, kernel, definitions, memories, store, base, protocol.
 * Start reading: door.ts (a turn), turns.ts (what belongs to which turn), post.ts (a message and the run that answers it).
 */
export { recallActs, SUMMARY_KEY } from '../shared/index.ts';
export {
  cancelSession,
  createSession,
  deleteSession,
  forkSession,
  getSession,
  listAllSessions,
  listMessages,
  listSessions,
  retrySession,
  updateSession,
  updateUnchangedSession,
} from './actions.ts';
export { answerStoredMessage } from './answer-message.ts';
export { askedIn } from './asked.ts';
export { continueRun } from './continue.ts';
export { createSessionsDoor, sessionsDoor } from './door.ts';
export { deleteFiles, getFindings, getTodos, listFiles, readFile, writeFile } from './files.ts';
export { postMessage } from './post.ts';
export { agentCheck, agentTask } from './task.ts';
export { answeredBy } from './turns.ts';
