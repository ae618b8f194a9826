import { type Json, type JsonObject, type ReasoningEffort, reasoningEffort } from '@troupe/protocol';
import { type Door, type Meaning, type RunView, toModelMessages } from '../../kernel/index.ts';
import { rememberedPart } from '../../memories/index.ts';
import type { Database } from '../../store/index.ts';
import {
  asAsked,
  asNudged,
  changedSince,
  formatPart,
  isEmptyAnswer,
  isRefused,
  mayNudge,
  nudge,
  outputOf,
  refusal,
  roomFor,
  shortened,
  sizeOf,
  stoppedEmpty,
  tasksPart,
} from '../shared/index.ts';
import { asSaid, endOf, summaryDue, summaryOf } from './summary.ts';
import { asTold } from './told.ts';
import { isWhole, turnsFor } from './turns.ts';
import { lastTurns, MOST_BYTES } from './window.ts';

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
  context: async (view) => {
    const { run, snapshot, transcript } = view;
    const { earlier, own } = turnsFor(run, transcript);
    const { summary, upTo } = summaryOf(transcript);
    const open = earlier.filter((turn) => isWhole(turn) && endOf(turn) > upTo);
    const { answer } = snapshot;
    const remembered = db ? await rememberedPart(db, snapshot, run) : '';
    const tasks = db ? await tasksPart(db, snapshot, run) : '';
    const parts = [snapshot.prompt, answer ? formatPart(answer) : '', remembered, tasks];
    const system = parts.filter((part) => part !== '').join(BETWEEN);
    const room = roomFor({ ...view, snapshot: { ...snapshot, prompt: system } });
    const left = room - sizeOf(own.messages) - (summary ? sizeOf([summary]) : 0);
    const said = lastTurns(
      // What a turn was refused for is nobody's business but its own.
      [...open.map(({ messages }) => messages.filter((one) => !isRefused(one))), own.messages],
      Math.min(MOST_BYTES, left),
    );
    const shown = summary ? [asSaid(summary), ...said] : said;
    return {
      system,
      messages: shortened(
        toModelMessages(shown, view, (one) => asNudged(one) ?? asAsked(one) ?? asTold(one)),
        room,
      ),
      ...effortOf(run.metadata),
      ...(answer ? { answerSchema: answer.schema } : {}),
      ...changedSince(view, { remembered, tasks }),
    };
  },
  settle: (view, given) => {
    const stopped = stoppedEmpty(given, view, FILTER_ADVICE);
    if (stopped) return stopped;
    const { text, calls, finishReason } = given;
    const { run, snapshot, transcript } = view;
    // An agent with a schema is told that nothing is no JSON, as often as any other misfit.
    if (isEmptyAnswer(given) && !snapshot.answer) {
      if (mayNudge(view, turnsFor(run, transcript).own.messages)) return nudge(NUDGE);
      return said(view, { text: '', calls: 0, marks: { empty: true } });
    }
    const { answer } = snapshot;
    if (answer && calls.length === 0) {
      const read = outputOf(answer, { text, finishReason });
      if ('problem' in read) {
        return refusal(answer, turnsFor(run, transcript).own.messages, { text, problem: read.problem });
      }
      return said(view, { ...read, calls: 0 });
    }
    // Whoever reads half an answer must be able to tell.
    const cut = finishReason === 'length' || finishReason === 'content_filter' ? { finishReason } : null;
    return said(view, { text, calls: calls.length, ...(cut ? { marks: cut } : {}) });
  },
});

/** Remembers nothing: for those who have no database at hand. */
export const sessionsDoor: Door = createSessionsDoor();

/** What becomes of an answer that is one. */
function said(
  { run, snapshot, transcript, model }: RunView,
  { text, calls, marks, output }: { text: string; calls: number; marks?: JsonObject; output?: Json },
): Meaning {
  // That the text is JSON is told beside it: whoever reads the message has not seen the agent's schema.
  const metadata = output === undefined ? marks : { ...marks, format: 'json' };
  const isSaid = text !== '' || marks?.empty === true;
  const messages: Meaning['messages'] = !isSaid
    ? []
    : [{ role: 'assistant', content: { text }, ...(metadata ? { metadata } : {}) }];
  if (calls === 0) {
    const due = summaryDue(
      transcript,
      turnsFor(run, transcript),
      snapshot.limits.historyMessages,
      Math.min(MOST_BYTES, roomFor({ model, snapshot })),
    );
    if (due) messages.push(due);
  }
  return {
    messages,
    outcome: { text, ...(output === undefined ? {} : { output }), ...marks },
    endEvents: [{ type: 'session.completed' }],
  };
}

const FILTER_ADVICE = 'Say it in another way, or give the agent another model.';
const NUDGE = 'No answer was given. Answer the last message now, in text.';

/** What the message asked for, of which its run keeps a note. */
function effortOf(metadata: JsonObject): { reasoningEffort?: ReasoningEffort } {
  const asked = reasoningEffort.safeParse(metadata.reasoningEffort);
  return asked.success ? { reasoningEffort: asked.data } : {};
}
