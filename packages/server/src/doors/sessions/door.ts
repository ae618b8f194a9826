import { type Json, type JsonObject, type ReasoningEffort, reasoningEffort } from '@troupe/protocol';
import type { Door, Meaning, RunView } from '../../kernel/index.ts';
import { rememberedPart } from '../../memories/index.ts';
import type { Database } from '../../store/index.ts';
import {
  asAsked,
  asNudged,
  type Conversation,
  calibration,
  changedSince,
  compactionContext,
  compactionMeaning,
  digestMeaning,
  digestWithAnswer,
  extraSteps,
  formatPart,
  isEmptyAnswer,
  isLimitNotice,
  isRefused,
  isSummarising,
  lengthRefused,
  mayNudge,
  modelsFor,
  nudge,
  outputOf,
  recallTools,
  refusal,
  rememberWindow,
  shownIn,
  stoppedEmpty,
  tasksPart,
  uncovered,
  type Window,
  windowFor,
} from '../shared/index.ts';
import { asTold } from './told.ts';
import { turnsFor } from './turns.ts';

/** Between the parts of a prompt, as between those that an agent is compiled of. */
const BETWEEN = '\n\n---\n\n';

/**
 * A person and one agent, turn by turn: the model sees the conversation, its text is the answer. Where agents are to be told
 * what they remember, it needs the database to read it from.
 */
export const createSessionsDoor = (db?: Database): Door => ({
  name: 'session',
  startEvents: ['session.started'],
  failEvents: ['session.failed'],
  cancelEvents: ['session.canceled'],
  tools: recallTools,
  extraSteps,
  models: (view) => modelsFor(view, windowOf(view)),
  context: async (view) => {
    const { run, snapshot } = view;
    const window = windowOf(view);
    if (isSummarising(view, window)) return compactionContext(window.due, view);
    const { answer } = snapshot;
    const remembered = db ? await rememberedPart(db, snapshot, run) : '';
    const tasks = db ? await tasksPart(db, snapshot, run) : '';
    const more = [answer ? formatPart(answer) : '', remembered, tasks].filter((part) => part !== '');
    return {
      system: [snapshot.prompt, ...more].filter((part) => part !== '').join(BETWEEN),
      ...shownIn(window, view, more, (one) => asNudged(one) ?? asAsked(one) ?? asTold(one)),
      ...effortOf(run.metadata),
      ...(answer ? { answerSchema: answer.schema } : {}),
      ...changedSince(view, { remembered, tasks }),
    };
  },
  settle: (view, given) => {
    const window = windowOf(view);
    if (isSummarising(view, window)) return compactionMeaning(window.due, view, given);
    const stopped = stoppedEmpty(given, view, FILTER_ADVICE);
    if (stopped) return stopped;
    const { text, calls, finishReason } = given;
    const { run, snapshot, transcript } = view;
    const noted = calibration(view, given, window.ratio);
    // For an agent with a schema, an empty answer is invalid JSON and retried like any other invalid answer.
    if (isEmptyAnswer(given) && !snapshot.answer) {
      if (mayNudge(view, conversationOf(view).own)) return nudge(NUDGE);
      return said(view, window, noted, { text: '', calls: 0, marks: { empty: true } });
    }
    const { answer } = snapshot;
    if (answer && calls.length === 0) {
      const read = outputOf(answer, { text, finishReason });
      if ('problem' in read) {
        return refusal(answer, turnsFor(run, transcript).own.messages, { text, problem: read.problem });
      }
      return said(view, window, noted, { ...read, calls: 0 });
    }
    // Whoever reads half an answer must be able to tell.
    const cut = finishReason === 'length' || finishReason === 'content_filter' ? { finishReason } : null;
    return said(view, window, noted, { text, calls: calls.length, ...(cut ? { marks: cut } : {}) });
  },
  recover: (view, error) => {
    const window = windowOf(view);
    if (isSummarising(view, window)) return digestMeaning(window.due, view, error);
    return error.code === 'context_too_long' ? lengthRefused(view, window) : null;
  },
});

/** Remembers nothing: for those who have no database at hand. */
export const sessionsDoor: Door = createSessionsDoor();

/** The conversation of a run; turns of other runs without the answers that were refused in them. */
function conversationOf({ run, transcript }: Pick<RunView, 'run' | 'transcript'>): Conversation {
  const { earlier, own } = turnsFor(run, uncovered(transcript, run));
  return {
    earlier: earlier.map(({ messages }) => messages),
    own: own.messages,
    hidden: (message, isOwn) => isLimitNotice(message) || (!isOwn && isRefused(message)),
  };
}

const windowOf = rememberWindow((view) => windowFor(view, conversationOf(view)));

/** What becomes of an answer that is one. */
function said(
  view: RunView,
  { due }: Window,
  noted: JsonObject | null,
  { text, calls, marks, output }: { text: string; calls: number; marks?: JsonObject; output?: Json },
): Meaning {
  // That the text is JSON is told beside it: whoever reads the message has not seen the agent's schema.
  const metadata = { ...noted, ...marks, ...(output === undefined ? {} : { format: 'json' }) };
  const hasMetadata = Object.keys(metadata).length > 0;
  const isSaid = text !== '' || marks?.empty === true;
  const messages: Meaning['messages'] = isSaid
    ? [{ role: 'assistant', content: { text }, ...(hasMetadata ? { metadata } : {}) }]
    : [];
  const digest = calls === 0 && due ? digestWithAnswer(due, view) : null;
  if (digest) messages.push(...digest.messages);
  return {
    messages,
    ...(digest ? { events: digest.events } : {}),
    outcome: { text, ...(output === undefined ? {} : { output }), ...marks },
    endEvents: [{ type: 'session.completed' }],
  };
}

const FILTER_ADVICE = 'Rephrase the message, or give the agent another model.';
const NUDGE = 'No answer was given. Answer the last message now, in text.';

/** What the message asked for, of which its run keeps a note. */
function effortOf(metadata: JsonObject): { reasoningEffort?: ReasoningEffort } {
  const asked = reasoningEffort.safeParse(metadata.reasoningEffort);
  return asked.success ? { reasoningEffort: asked.data } : {};
}
