import type { RunError } from '@troupe/protocol';
import type { CallChange, NewCall, NewEvent, NewMessage, StoredCall } from '../store/index.ts';
import { heardNote } from './heard.ts';
import { keptWith } from './reasoning.ts';
import type {
  Commit,
  Decision,
  Executing,
  FinishedCall,
  ResolvedCall,
  RunEffect,
  RunFacts,
  RunInput,
  RunState,
} from './state.ts';

// Long because it is one idea: every decision about a run in one place, to be read from top to bottom.
//
// What to do next: (state, input) → (state, effects). No clock, no database, no randomness, so that the same code
// runs in production, in the property tests and in the simulation.

const TAKEOVERS_WITHOUT_A_STEP = 3;
/** A provider that asks for more patience than this is left for the next model of the list, where there is one. */
const PATIENCE_MS = 60_000;
const LONGEST_BACKOFF_MS = 60_000;
const PERSON_WAIT_MS = 24 * 3_600_000;

export function initialState(
  facts: RunFacts,
  row: { step: number; attempt: number; modelIndex: number; toolCalls: number; tokens: number },
): RunState {
  return {
    facts,
    phase: 'thinking',
    step: row.step,
    attempt: row.attempt,
    modelIndex: Math.min(row.modelIndex, facts.models - 1),
    toolCalls: row.toolCalls,
    tokens: row.tokens,
    executing: [],
    finished: [],
    outside: 0,
    starting: [],
    draining: false,
    lettingGo: false,
    ending: null,
  };
}

export function decide(state: RunState, input: RunInput): Decision {
  if (state.phase === 'gone') return [state, []];
  switch (input.type) {
    case 'claimed':
      return claimed(state, input);
    case 'answered':
      return answered(state, input);
    case 'model_failed':
      return modelFailed(state, input);
    case 'budget_denied':
      return budgetDenied(state, input);
    case 'tool_finished':
      return toolFinished(state, input.call);
    case 'tool_handed_over':
      return toolHandedOver(state, input.id);
    case 'committed':
      return committed(state, input);
    case 'commit_failed':
      return commitFailed(state, input.error);
    case 'lost':
      return [
        { ...state, phase: 'gone' },
        [
          { type: 'abort', reason: 'the run was taken away' },
          { type: 'gone', how: 'lost' },
        ],
      ];
    case 'drain':
      return [{ ...state, draining: true }, []];
    case 'let_go':
      return letGo(state);
    case 'wall_time_over':
      return wallTimeOver(state);
  }
}

// ---- taking up

function claimed(state: RunState, input: RunInput & { type: 'claimed' }): Decision {
  if (input.takeovers >= TAKEOVERS_WITHOUT_A_STEP) {
    return end({ ...state, ending: { target: 'failed', error: noProgress(input.takeovers) } });
  }
  if (input.remainingMs <= 0) {
    return end({ ...state, ending: { target: 'canceled', reason: 'timeout' } });
  }
  const current: RunState = { ...state, outside: input.openCalls };
  const begun = input.calls.filter((call) => call.status === 'requested' && call.waitsFor === null);
  const stale = input.calls.filter((call) => call.status === 'running');
  return recover(current, begun, stale);
}

/** Calls that may run begin (again); a `once` call that was under way elsewhere is in doubt. */
function recover(state: RunState, ready: StoredCall[], stale: StoredCall[]): Decision {
  const again = stale.filter((call) => call.effect !== 'once');
  const doubtful = stale.filter((call) => call.effect === 'once');
  if (ready.length + stale.length === 0) return next(state);
  if (state.draining && doubtful.length === 0) return release(state);

  const starting = [
    ...ready.map((call) => ({ id: call.id, attempt: call.attempt })),
    ...again.map((call) => ({ id: call.id, attempt: call.attempt + 1 })),
  ];
  const begun: CallChange[] = [
    ...ready.map((call): CallChange => ({ id: call.id, status: 'running' })),
    ...again.map((call): CallChange => ({ id: call.id, status: 'running', again: 1 })),
  ];
  const waits = state.facts.inDoubt === 'wait';
  const settled = doubtful.map(
    (call): CallChange => ({
      id: call.id,
      status: 'in_doubt',
      error: IN_DOUBT,
      ...(waits ? { waitsFor: 'person' as const, deadlineMs: PERSON_WAIT_MS } : {}),
    }),
  );
  const told = waits ? [] : doubtful;
  const park = starting.length === 0;
  const outside = state.outside + (waits ? doubtful.length : 0);
  return commit(
    { ...state, starting, outside },
    {
      name: 'recover',
      begun,
      settled,
      messages: told.map((call) =>
        resultMessage(state.step, { id: call.id, status: 'failed', error: IN_DOUBT }),
      ),
      events: [
        ...[...ready, ...again].map(
          (call): NewEvent => ({
            type: 'tool.started',
            step: state.step,
            data: { id: call.id, tool: call.tool, again: true },
          }),
        ),
        ...told.flatMap((call, index): NewEvent[] => [
          created('tool_result', state.step, index),
          {
            type: 'tool.failed',
            step: state.step,
            message: index,
            data: { id: call.id, status: 'in_doubt', code: 'in_doubt' },
          },
        ]),
        ...(waits ? doubtful : []).map(
          (call): NewEvent => ({
            type: 'tool.waiting',
            step: state.step,
            data: {
              id: call.id,
              tool: call.tool,
              waitsFor: 'person',
              deadlineMs: PERSON_WAIT_MS,
              code: 'in_doubt',
            },
          }),
        ),
      ],
      park,
      ...(park ? { goEvents: [stepStarted(state)], parkEvents: [{ type: 'run.waiting_tool' }] } : {}),
    },
  );
}

// ---- thinking

/** Nothing is under way: think, wait, end or let go. */
function next(state: RunState): Decision {
  if (state.ending) return end(state);
  if (state.finished.length > 0) return commitResults(state);
  if (state.executing.length > 0) return [{ ...state, phase: 'acting' }, []];
  if (state.outside > 0) {
    return commit(state, {
      name: 'park',
      park: true,
      goEvents: [stepStarted(state)],
      parkEvents: [{ type: 'run.waiting_tool' }],
    });
  }
  if (state.draining) return release(state);
  const limit = overLimit(state);
  if (limit) return end({ ...state, ending: { target: 'failed', error: limit } });
  return [
    { ...state, phase: 'thinking' },
    [{ type: 'think', step: state.step + 1, modelIndex: state.modelIndex, attempt: state.attempt + 1 }],
  ];
}

function overLimit(state: RunState): RunError | null {
  const { limits } = state.facts;
  if (state.step >= limits.steps) {
    return {
      code: 'step_limit',
      message: `The run took ${state.step} steps, the most it may, without coming to an end.`,
    };
  }
  if (limits.tokens !== undefined && state.tokens >= limits.tokens) {
    return {
      code: 'token_limit',
      message: `The run used ${state.tokens} tokens; it may use ${limits.tokens}.`,
    };
  }
  return null;
}

function answered(state: RunState, input: RunInput & { type: 'answered' }): Decision {
  if (state.phase !== 'thinking') return [state, []];
  const { settlement, stepRow } = input;
  const step = state.step + 1;
  const calls = settlement.calls.map((call, index) => limited(state, call, index));
  const good = calls.filter((call) => call.error === undefined);
  const execute = good.filter((call) => call.waitsFor === undefined);
  const outside = good.length - execute.length;
  const bad = calls.filter((call) => call.error !== undefined);
  const after: RunState = {
    ...state,
    step,
    attempt: 0,
    modelIndex: settlement.handsOver ? 0 : state.modelIndex,
    toolCalls: state.toolCalls + calls.length,
    tokens: state.tokens + stepRow.inputTokens + stepRow.outputTokens,
    outside: state.outside + outside,
    starting: state.draining ? [] : execute.map((call) => ({ id: call.id, attempt: 1 })),
  };

  const messages: Omit<NewMessage, 'id'>[] = settlement.messages.map((message) => ({ ...message, step }));
  const events: NewEvent[] = [
    {
      type: 'step.generated',
      step,
      data: {
        model: stepRow.model,
        inputTokens: stepRow.inputTokens,
        outputTokens: stepRow.outputTokens,
        ...(stepRow.cacheReadTokens ? { cacheReadTokens: stepRow.cacheReadTokens } : {}),
        ...(stepRow.cacheWriteTokens ? { cacheWriteTokens: stepRow.cacheWriteTokens } : {}),
        finishReason: stepRow.finishReason,
      },
    },
    ...settlement.messages.map((message, index) => created(message.role, step, index)),
    ...settlement.events.map((event) => ({ ...event, step })),
  ];
  for (const [index, call] of calls.entries()) {
    messages.push({
      role: 'tool_call',
      callId: call.id,
      step,
      ...(index === 0 ? keptWith(settlement.reasoning) : {}),
      content: { id: call.id, name: call.tool, arguments: call.args },
    });
    const waiting = call.waitsFor !== undefined && call.error === undefined;
    events.push(created('tool_call', step, messages.length - 1), {
      type: waiting ? 'tool.waiting' : 'tool.started',
      step,
      message: messages.length - 1,
      data: {
        id: call.id,
        tool: call.tool,
        ...(waiting ? { waitsFor: call.waitsFor!, deadlineMs: call.deadlineMs! } : {}),
      },
    });
  }
  for (const call of bad) {
    messages.push(resultMessage(step, { id: call.id, status: 'failed', error: call.error! }));
    events.push(created('tool_result', step, messages.length - 1), {
      type: 'tool.failed',
      step,
      message: messages.length - 1,
      data: { id: call.id, status: 'failed', code: call.error!.code },
    });
  }

  const [first] = messages;
  if (first && settlement.heard !== undefined)
    messages[0] = { ...first, metadata: { ...first.metadata, ...heardNote(settlement.heard) } };

  const shared: Commit = {
    name: 'answer',
    step,
    attempt: 0,
    ...(after.modelIndex === state.modelIndex ? {} : { modelIndex: after.modelIndex }),
    stepRow,
    messages,
    events,
    calls: calls.map((call) => newCall(call, state.draining)),
    ...(settlement.places ? { places: settlement.places } : {}),
  };
  if (calls.length === 0 && settlement.fail) {
    const { fail: error } = settlement;
    return commit(after, { ...shared, target: 'failed', error, targetEvents: failEvents(state, error) });
  }
  if (calls.length === 0 && settlement.end) {
    return commit(after, {
      ...shared,
      target: 'completed',
      outcome: settlement.outcome,
      targetEvents: [...settlement.endEvents, { type: 'run.completed' }],
      goEvents: [stepStarted(after)],
    });
  }
  if (execute.length > 0 && !state.draining) return commit(after, shared);
  if (outside > 0 && execute.length === 0) {
    return commit(after, {
      ...shared,
      park: true,
      goEvents: [stepStarted(after)],
      parkEvents: [{ type: 'run.waiting_tool' }],
    });
  }
  if (state.draining) return commit(after, { ...shared, target: 'queued' });
  return commit(after, { ...shared, goEvents: [stepStarted(after)] });
}

function limited(state: RunState, call: ResolvedCall, index: number): ResolvedCall {
  const { fanOut, toolCalls } = state.facts.limits;
  if (call.error !== undefined) return call;
  if (index >= fanOut) {
    return {
      ...call,
      error: {
        code: 'too_many_calls',
        message: `Only ${fanOut} calls can be made at once; this one was not made.`,
      },
    };
  }
  if (state.toolCalls + index >= toolCalls) {
    return {
      ...call,
      error: {
        code: 'tool_call_limit',
        message: `This run may make ${toolCalls} calls in all; this one was not made.`,
      },
    };
  }
  return call;
}

function newCall(call: ResolvedCall, draining: boolean): NewCall {
  const { id, tool, args, effect, shown } = call;
  const base = { id, tool, args, effect, ...(shown ? { shown } : {}) };
  if (call.error !== undefined) return { ...base, status: 'failed', error: call.error };
  if (call.waitsFor !== undefined)
    return { ...base, status: 'requested', waitsFor: call.waitsFor, deadlineMs: call.deadlineMs! };
  return { ...base, status: draining ? 'requested' : 'running' };
}

function modelFailed(state: RunState, input: RunInput & { type: 'model_failed' }): Decision {
  if (state.phase !== 'thinking') return [state, []];
  const { error } = input;
  const tries = state.attempt + 1;
  const another = state.modelIndex + 1 < (input.models ?? state.facts.models);
  const event = (data: Record<string, string | number>): NewEvent => ({
    type: 'step.error',
    step: state.step + 1,
    data: { code: error.code, message: error.message, ...data },
  });
  const tooLong = another && input.retryAfterMs > PATIENCE_MS;
  if (error.retryable && tries < state.facts.limits.modelTries && !tooLong) {
    const backoff = Math.min(state.facts.limits.retryBackoffMs * 2 ** (tries - 1), LONGEST_BACKOFF_MS);
    const delayMs = Math.max(backoff, input.retryAfterMs);
    return commit(state, {
      name: 'retry',
      target: 'queued',
      delayMs,
      attempt: tries,
      error,
      targetEvents: [event({ retryInMs: delayMs, attempt: tries })],
    });
  }
  if (another) {
    const modelIndex = state.modelIndex + 1;
    return commit(
      { ...state, modelIndex, attempt: 0 },
      { name: 'fallback', modelIndex, attempt: 0, error, events: [event({ fallbackTo: modelIndex })] },
    );
  }
  const failed = event({ attempt: tries });
  if (input.instead) {
    const { settlement, stepRow } = input.instead;
    const events = [failed, ...settlement.events];
    return answered(state, { type: 'answered', settlement: { ...settlement, events }, stepRow });
  }
  return end({ ...state, ending: { target: 'failed', error } }, [failed]);
}

function budgetDenied(state: RunState, input: RunInput & { type: 'budget_denied' }): Decision {
  if (state.phase !== 'thinking') return [state, []];
  const event: NewEvent = {
    type: 'budget.exhausted',
    step: state.step + 1,
    data: { budget: input.budget, policy: input.policy },
  };
  if (input.policy === 'fallback' && state.modelIndex + 1 < (input.models ?? state.facts.models)) {
    const modelIndex = state.modelIndex + 1;
    return commit(
      { ...state, modelIndex, attempt: 0 },
      { name: 'fallback', modelIndex, attempt: 0, events: [event] },
    );
  }
  if (input.policy === 'wait') {
    return commit(state, {
      name: 'park',
      target: 'waiting_tool',
      delayMs: PERSON_WAIT_MS,
      waitState: { kind: 'budget', budget: input.budget, amount: input.amount ?? 0 },
      parkEvents: [event, { type: 'run.waiting_tool', data: { budget: input.budget } }],
    });
  }
  return end({ ...state, ending: { target: 'canceled', reason: 'budget' } }, [event]);
}

// ---- acting

function toolFinished(state: RunState, call: FinishedCall): Decision {
  if (!state.executing.includes(call.id)) return [state, []];
  const after: RunState = {
    ...state,
    executing: state.executing.filter((id) => id !== call.id),
    finished: [...state.finished, call],
  };
  return after.phase === 'acting' ? next(after) : [after, []];
}

/**
 * The call is open, and the row counts it: it is one more that waits outside, and there is nothing to write about it. It may
 * be settled by now; the commit that would park the run finds that out.
 */
function toolHandedOver(state: RunState, id: string): Decision {
  if (!state.executing.includes(id)) return [state, []];
  const after: RunState = {
    ...state,
    executing: state.executing.filter((one) => one !== id),
    outside: state.outside + 1,
  };
  return after.phase === 'acting' ? next(after) : [after, []];
}

function commitResults(state: RunState): Decision {
  const last = state.executing.length === 0;
  return commit(
    { ...state, finished: [] },
    {
      ...resultsOf(state),
      name: 'result',
      ...(last && state.outside > 0 ? { park: true, parkEvents: [{ type: 'run.waiting_tool' }] } : {}),
      ...(last && !state.draining ? { goEvents: [stepStarted(state)] } : {}),
      ...(last && state.draining && state.outside === 0 ? { target: 'queued' as const } : {}),
    },
  );
}

function resultsOf(state: RunState): Required<Pick<Commit, 'settled' | 'messages' | 'events'>> {
  const { finished, step } = state;
  return {
    settled: finished.map(
      (call): CallChange => ({
        id: call.id,
        status: call.status,
        ...(call.output !== undefined ? { output: call.output } : {}),
        ...(call.error !== undefined ? { error: call.error } : {}),
      }),
    ),
    messages: finished.map((call) => resultMessage(step, call)),
    events: finished.flatMap((call, index): NewEvent[] => [
      created('tool_result', step, index),
      {
        type: call.status === 'completed' ? 'tool.completed' : 'tool.failed',
        step,
        message: index,
        data: { id: call.id, ...(call.error ? { status: call.status, code: call.error.code } : {}) },
      },
    ]),
  };
}

// ---- after a commit

function committed(state: RunState, input: RunInput & { type: 'committed' }): Decision {
  if (input.mode !== 'go') {
    const effects: RunEffect[] = [{ type: 'gone', how: input.mode === 'ended' ? 'ended' : input.mode }];
    if (state.executing.length > 0) effects.unshift({ type: 'abort', reason: 'the run has ended' });
    return [{ ...state, phase: 'gone' }, effects];
  }
  const begun = state.starting;
  const after: RunState = {
    ...state,
    // Where fewer are open than before, some may have been let through: only a commit that would park is told which, so
    // one has to be made before the next step.
    outside: input.ready ? (input.openCalls ?? 0) : Math.max(state.outside, input.openCalls ?? 0),
    starting: [],
    executing: [...state.executing, ...begun.map((call) => call.id)],
    phase: 'acting',
  };
  // What this commit let begin has not begun: it goes back as asked for, or the next worker would have to doubt it.
  if (after.lettingGo && after.ending === null) return release(after, begun);
  // A run that must end starts nothing more: its calls are closed by the commit that ends it.
  const started: RunEffect[] = after.ending ? [] : begun.map((call) => ({ type: 'execute', call }));
  if (input.ready && input.ready.length > 0 && after.ending === null) {
    const [later, effects] = recover(after, input.ready, []);
    return [later, [...started, ...effects]];
  }
  const [later, effects] = next(after);
  return [later, [...started, ...effects]];
}

// ---- ending

/** What could not be written is given up and the run ends with the reason; if even that fails, it is left to others. */
function commitFailed(state: RunState, error: RunError): Decision {
  const abort: RunEffect = { type: 'abort', reason: error.message };
  if (state.ending) return [{ ...state, phase: 'gone' }, [abort, { type: 'gone', how: 'lost' }]];
  const [after, effects] = end({ ...state, finished: [], ending: { target: 'failed', error } });
  return [after, [abort, ...effects]];
}

function wallTimeOver(state: RunState): Decision {
  const ending: RunState = { ...state, ending: { target: 'canceled', reason: 'timeout' } };
  const abort: RunEffect = { type: 'abort', reason: 'the wall time is over' };
  if (state.phase === 'committing') return [ending, [abort]];
  const [after, effects] = end(ending);
  return [after, [abort, ...effects]];
}

/** Ends the run in one commit. Results that are there go with it; calls that are still open are closed by it. */
function end(state: RunState, events: NewEvent[] = []): Decision {
  const ending = state.ending!;
  const results = resultsOf(state);
  return commit(
    { ...state, executing: [], finished: [], starting: [] },
    {
      ...results,
      name: 'finish',
      events: [...events, ...results.events],
      close: true,
      target: ending.target,
      ...(ending.error ? { error: ending.error } : {}),
      ...(ending.reason ? { cancelReason: ending.reason } : {}),
      targetEvents:
        ending.target === 'failed'
          ? failEvents(state, ending.error!)
          : [...(state.facts.cancelEvents ?? []), 'run.canceled'].map((type) => ({
              type,
              data: { reason: ending.reason! },
            })),
    },
  );
}

/** Lets the run go as it stands: whoever takes it next goes on from the rows. */
function release(state: RunState, notBegun: Executing[] = []): Decision {
  return commit(
    { ...state, executing: [], finished: [], starting: [] },
    {
      ...resultsOf(state),
      name: 'release',
      target: 'queued',
      ...(notBegun.length > 0
        ? { begun: notBegun.map(({ id }): CallChange => ({ id, status: 'requested' })) }
        : {}),
    },
  );
}

/** The process cannot wait any longer. */
function letGo(state: RunState): Decision {
  const going: RunState = { ...state, draining: true, lettingGo: true };
  const abort: RunEffect = { type: 'abort', reason: 'the process is stopping' };
  if (state.phase === 'committing') return [going, [abort]];
  const [after, effects] = release(going);
  return [after, [abort, ...effects]];
}

function commit(state: RunState, item: Commit): Decision {
  return [{ ...state, phase: 'committing' }, [{ type: 'commit', commit: item }]];
}

// ---- pieces

function failEvents({ facts }: RunState, { code, message }: RunError): NewEvent[] {
  return [...(facts.failEvents ?? []), 'run.failed'].map((type) => ({ type, data: { code, message } }));
}

const IN_DOUBT = {
  code: 'in_doubt',
  message:
    'The process that executed this call died before it could record the outcome: it may or may not have taken effect. Do not assume either; check before you repeat it.',
};

function noProgress(takeovers: number): RunError {
  return {
    code: 'no_progress',
    message: `${takeovers} workers died in a row while they worked on this step; it is not tried again by itself.`,
    retryable: true,
  };
}

function stepStarted(state: RunState): NewEvent {
  return { type: 'step.started', step: state.step + 1 };
}

/** `message`: its place among the messages of the commit. */
function created(role: NewMessage['role'], step: number, message: number): NewEvent {
  return { type: 'message.created', step, message, data: { role } };
}

function resultMessage(step: number, call: FinishedCall): Omit<NewMessage, 'id'> {
  return {
    role: 'tool_result',
    callId: call.id,
    step,
    content: {
      result: call.output ?? null,
      error: call.error ? { code: call.error.code, message: call.error.message } : null,
    },
  };
}
