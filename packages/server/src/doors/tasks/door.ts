import type { AgentSnapshot } from '@troupe/protocol';
import {
  type Door,
  type Meaning,
  type MeantCall,
  type ModelCall,
  type RunView,
  toModelMessages,
} from '../../kernel/index.ts';
import { rememberedPart } from '../../memories/index.ts';
import type { Database, StoredMessage } from '../../store/index.ts';
import {
  asAsked,
  asNudged,
  type Conversation,
  calibration,
  changedSince,
  compactionContext,
  compactionMeaning,
  type Due,
  digestMeaning,
  EMPTY_ANSWER,
  extraSteps,
  formatPart,
  isEmptyAnswer,
  isLimitNotice,
  isSummarising,
  isSummary,
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
import { DOOR } from './door-name.ts';
import { finalOf, MISFIT, misfit } from './final.ts';
import { lastTurn } from './forced.ts';
import { ASK_USER, ownTools } from './own-tools.ts';

const BETWEEN = '\n\n---\n\n';

/** A sub-agent at work: it sees its own thread and nothing else, and what it ends with is the result of its task. */
export function createTasksDoor(db: Database): Door {
  return {
    name: DOOR,
    tools: (snapshot) => [...ownTools(snapshot), ...(isToolTask(snapshot) ? [] : recallTools())],
    extraSteps,
    models: (view) => (isToolTask(view.snapshot) ? view.snapshot.models : modelsFor(view, windowOf(view))),
    context: async (view) => {
      const { run, snapshot, transcript } = view;
      const window = windowOf(view);
      if (isCompacting(view, window)) return compactionContext(window.due, view);
      const forced = lastTurn(view) !== null;
      const isTool = isToolTask(snapshot);
      const remembered = isTool ? '' : await rememberedPart(db, snapshot, run);
      const tasks = isTool ? '' : await tasksPart(db, snapshot, run);
      const more = isTool
        ? []
        : [
            forced ? ANSWER_NOW : SUB_AGENT,
            snapshot.answer ? `${formatPart(snapshot.answer)}${forced ? '' : IN_FINAL}` : '',
            remembered,
            tasks,
          ].filter((part) => part !== '');
      const shown = isTool
        ? { messages: toModelMessages(whole(transcript), view, asAsked) }
        : shownIn(window, view, more, (one) => asNudged(one) ?? asAsked(one));
      return {
        system: isTool ? '' : [snapshot.prompt, ...more].filter((part) => part !== '').join(BETWEEN),
        ...shown,
        ...(forced && !isTool ? { tools: [], toolChoice: 'none' as const } : {}),
        ...(forced && snapshot.answer ? { answerSchema: snapshot.answer.schema } : {}),
        ...changedSince(view, { remembered, tasks }),
      };
    },
    settle: (view, given) => {
      const window = windowOf(view);
      if (isCompacting(view, window)) return compactionMeaning(window.due, view, given);
      const stopped = stoppedEmpty(given, view, FILTER_ADVICE);
      if (stopped) return stopped;
      const { text, calls, finishReason } = given;
      const noted = calibration(view, given, window.ratio);
      const said: Meaning['messages'] =
        text.trim() === ''
          ? []
          : [{ role: 'assistant', content: { text }, ...(noted ? { metadata: noted } : {}) }];
      const { answer } = view.snapshot;
      const finals = calls.map((call) => finalOf(call, answer));
      const final = finals.find((result) => result !== null && 'text' in result);
      if (final) {
        const { text: result, output } = final;
        const metadata = { final: true, ...(output === undefined ? {} : { format: 'json' }) };
        const message = { role: 'assistant' as const, content: { text: result }, metadata };
        return { messages: [...said, message], calls: [], outcome: { ...final } };
      }
      const isTool = isToolTask(view.snapshot);
      // The output of a tool is the result, even if it is blank.
      const empty = !isTool && isEmptyAnswer(given);
      const own = uncovered(view.transcript, view.run).filter(({ runId }) => runId === view.run.id);
      const over = isTool ? null : lastTurn(view);
      if (over && (empty || calls.length > 0)) return { messages: said, calls: [], fail: over };
      // The giver waits for a result and would take an empty answer for it.
      if (empty) return mayNudge(view, own) ? nudge(NUDGE) : { messages: [], fail: EMPTY };
      const bad = finals.find((result) => result !== null);
      if (answer && bad && 'problem' in bad) {
        const tooOften = misfit(answer, view, bad.problem);
        if (tooOften) return { messages: said, calls: [], fail: tooOften };
      }
      if (calls.length > 0) return { messages: said, calls: oneQuestion(calls).map(refusing(finals)) };
      const cut = finishReason === 'length' || finishReason === 'content_filter' ? { finishReason } : {};
      if (!answer) return { messages: said, outcome: { text, ...cut } };
      const read = outputOf(answer, { text, finishReason });
      if ('problem' in read) {
        if (over)
          return {
            messages: said,
            fail: { ...over, message: `${over.message} Of what it said: ${read.problem}.` },
          };
        return refusal(answer, own, { text, problem: read.problem });
      }
      const message = {
        role: 'assistant' as const,
        content: { text: read.text },
        metadata: { format: 'json' },
      };
      return { messages: [message], outcome: { ...read } };
    },
    recover: (view, error) => {
      const window = windowOf(view);
      if (isCompacting(view, window)) return digestMeaning(window.due, view, error);
      if (error.code !== 'context_too_long' || isToolTask(view.snapshot)) return null;
      return lengthRefused(view, window);
    },
  };
}

function isToolTask({ config }: Pick<AgentSnapshot, 'config'>): boolean {
  return config.toolTask === true;
}

function isCompacting(view: RunView, window: Window): window is Window & { due: Due } {
  return !isToolTask(view.snapshot) && isSummarising(view, window);
}

/** The thread of a sub-agent is one conversation, however often the task was reactivated. */
function conversationOf({ run, transcript }: Pick<RunView, 'run' | 'transcript'>): Conversation {
  const open = uncovered(transcript, run);
  // Before the first summary, a limit on rows may have cut the first turn.
  const mayBeCut = !transcript.some(isSummary);
  return { earlier: [], own: mayBeCut ? whole(open) : open, hidden: isLimitNotice };
}

const windowOf = rememberWindow((view) => windowFor(view, conversationOf(view)));

/** What is left of a thread begins with something that was asked: the rest of a turn says nothing. */
function whole(transcript: readonly StoredMessage[]): readonly StoredMessage[] {
  const first = transcript.findIndex(({ role }) => role === 'user');
  return first <= 0 ? transcript : transcript.slice(first);
}

/** A result that does not fit is told so, beside the calls that are done. */
const refusing =
  (finals: readonly ReturnType<typeof finalOf>[]) =>
  (call: MeantCall, index: number): MeantCall => {
    const final = finals[index];
    if (!final || !('problem' in final)) return call;
    return { ...call, refuse: { code: MISFIT, message: `The result was refused: ${final.problem}.` } };
  };

/** Whoever answers sees one question. */
function oneQuestion(calls: readonly ModelCall[]): MeantCall[] {
  const first = calls.find(({ name }) => name === ASK_USER);
  return calls.map((call) => (call.name === ASK_USER && call !== first ? { ...call, refuse: SECOND } : call));
}

const IN_FINAL = '\nGive it as the `result` of final_answer.';

const SUB_AGENT =
  'You are a sub-agent: another agent gave you the task in the first message, and waits for its result. Nobody else reads what you ' +
  'write. Work on it with your tools. When you have the result, call final_answer with all of it: that is what the other agent ' +
  'gets, and nothing else. If something is missing that you cannot find out, and you cannot go on without it, ask for it with ask_user: one ' +
  'question at a time, and none twice.';

const ANSWER_NOW =
  'You are a sub-agent, and this is your last turn: you have no tools any more. Answer now, in text, with the result of your task as far as ' +
  'you have it. Say what is missing.';

const SECOND = {
  code: 'one_question',
  message:
    'Only one question can be asked at a time; this one was not asked. Ask it later, if you still need to.',
};

const NUDGE = 'No answer was given. Call final_answer with the result of your task, or say what is missing.';

const EMPTY = {
  code: EMPTY_ANSWER,
  message: 'The sub-agent gave two empty answers in a row. Retry the task, or give the agent another model.',
  retryable: true,
};

const FILTER_ADVICE = 'Give the agent another model.';
