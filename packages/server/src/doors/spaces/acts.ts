import type { Json, JsonObject } from '@troupe/protocol';
import { idFrom, isId } from '../../base/index.ts';
import {
  HANDED_OVER,
  persistently,
  type ToolAnswer,
  type ToolContext,
  type ToolExecute,
} from '../../kernel/index.ts';
import * as store from '../../store/index.ts';
import { NOWHERE, spacesOfCalls } from './active-space.ts';
import { inTurn } from './in-turn.ts';
import type { Parts } from './parts.ts';
import { clip, messageLine, summaryOf } from './prompt.ts';
import { say } from './say.ts';
import { toldToOthers } from './why.ts';

// What executes the tools of spaces. Whatever cannot be done is answered as data, with what to do instead: a model reads it.

const HISTORY = 20;
const READ = 50;
const RUNS = 10;
/** For a reply. */
const WAIT_MS = 300_000;
/** Of one message; how many are shown is bounded where they are read. */
const LONGEST = 10_000;

export function spaceActs(parts: Parts): Record<string, ToolExecute> {
  const turns = inTurn();
  const acts: Record<string, ToolExecute> = {
    enter_space: (args, context) => enterSpace(parts, args as never, context),
    send_message: (args, context) => sendMessage(parts, args as never, context),
    read_messages: (args, context) => readMessages(parts, args as never, context),
    absorb_run: (args, context) => absorbRun(parts, args as never, context),
    stop_run: (args, context) => stopRun(parts, args as never, context),
    get_my_runs: (args, context) => getMyRuns(parts, args as never, context),
  };
  const sure = Object.fromEntries(Object.entries(acts).map(([name, act]) => [name, untilAnswered(act)]));
  // Calls of one answer are carried out side by side; what they say is said in their order.
  const inOrder: ToolExecute = (args, context) =>
    turns(context.runId, async () => sure.send_message!(args, context));
  return { ...sure, send_message: inOrder };
}

/** All of them may be done twice. One whose answer was lost must not be told as failed: a model would say the same once more. */
function untilAnswered(act: ToolExecute): ToolExecute {
  return (args, context) =>
    persistently(
      async (attempt) => act(args, { ...context, attempt: context.attempt + attempt - 1 }),
      context.signal,
    );
}

/** The id that a message of this call has, before it is said: live text is known by it, and a repeat finds it. */
export function messageIdOf(runId: string, callId: string): string {
  return idFrom(`${runId}:${callId}`);
}

const refused = (code: string, error: string, more: JsonObject = {}) => ({
  success: false,
  code,
  error,
  ...more,
});

const RUN_LOST = refused('run_lost', 'This run is no longer yours to act in: it was stopped or taken over.');

function fenceOf({ runId: run, epoch, worker }: ToolContext) {
  return { run, epoch, worker };
}

async function notAMember({ db }: Parts, { runId }: ToolContext, space: string): Promise<Json> {
  const spaces = await store.spacesOfRun(db, runId);
  return refused(
    'not_a_member',
    space === NOWHERE
      ? 'The enter_space before this call named no space. Enter one of your spaces first.'
      : `You are not a member of a space ${space}. Use the id of one of your spaces.`,
    { yourSpaces: spaces.map(({ id, name }) => ({ spaceId: id, spaceName: name })) },
  );
}

async function enterSpace(
  parts: Parts,
  { spaceId, limit = HISTORY }: { spaceId: string; limit?: number },
  context: ToolContext,
): Promise<Json> {
  // As it is: where the calls after it speak follows from the same argument.
  const space = spaceId.toLowerCase();
  if (!isId(space)) return notAMember(parts, context, spaceId);
  const entered = await store.enterSpace(parts.db, fenceOf(context), space, limit);
  if (!entered.ok) return entered.code === 'run_lost' ? RUN_LOST : notAMember(parts, context, space);
  parts.kernel.touched(space);
  if (entered.left && entered.left !== space) parts.kernel.touched(entered.left);
  return {
    success: true,
    spaceId: space,
    spaceName: entered.spaceName,
    members: entered.members.slice(0, 100) as unknown as Json,
    history: asHistory(entered.history, context),
    // The same lines as in the prompt.
    lines: entered.history.map((message) => messageLine(message, context.entityId)),
    totalMessages: entered.total,
  };
}

async function readMessages(
  parts: Parts,
  {
    spaceId,
    limit = READ,
    offset = 0,
    search,
  }: { spaceId?: string; limit?: number; offset?: number; search?: string },
  context: ToolContext,
): Promise<Json> {
  const { db } = parts;
  const space = spaceId?.trim().toLowerCase() ?? (await store.spaceOfCall(db, context.runId, context.callId));
  if (space === null)
    return refused(
      'no_active_space',
      'There is no active space. Give a `spaceId`, or call enter_space first.',
    );
  if (!isId(space)) return notAMember(parts, context, spaceId!);
  const read = await store.readSpace(db, fenceOf(context), space, { limit, offset, search: search ?? null });
  if (!read.ok) return read.code === 'run_lost' ? RUN_LOST : notAMember(parts, context, space);
  return { success: true, spaceId: space, messages: asHistory(read.history, context), total: read.total };
}

function asHistory(history: store.FoundMessage[], { entityId }: ToolContext): Json[] {
  return history.map((message) => {
    const { metadata } = message.senderId === entityId ? message : toldToOthers(message);
    // What people wrote into their metadata is not about a run.
    const runContext = message.runId === null ? undefined : (metadata?.runContext as Json | undefined);
    return {
      id: message.id,
      senderName: message.senderName,
      senderType: message.senderType,
      senderId: message.senderId,
      content: clip(message.content.text, LONGEST),
      timestamp: message.createdAt,
      seen: message.seen,
      ...(runContext === undefined ? {} : { runContext }),
    };
  });
}

interface Saying {
  text: string;
  wait?: { for?: string[]; timeoutMs?: number };
}

async function sendMessage(parts: Parts, { text, wait }: Saying, context: ToolContext): Promise<ToolAnswer> {
  const { projectId, runId, callId, entityId, step } = context;
  if (text.trim() === '')
    return refused('empty_message', 'The text is empty. To say nothing, do not call send_message.');
  const run = await store.sayingRun(parts.db, runId, callId);
  if (!run) return RUN_LOST;
  const spaces = spacesOfCalls(run.spaceId, run.calls);
  const space = spaces.get(callId) ?? null;
  if (space === null) return refused('no_active_space', 'There is no active space. Call enter_space first.');
  const strange = wait?.for?.filter((one) => !isId(one.trim())) ?? [];
  if (strange.length > 0) return nobodyThere(strange);
  const awaited = wait?.for && [...new Set(wait.for.map((one) => one.trim().toLowerCase()))];
  const id = messageIdOf(runId, callId);
  const posted = await say(parts, {
    project: projectId,
    space,
    message: {
      id,
      role: 'assistant',
      content: { text },
      sender: entityId!,
      metadata: { runContext: whyOf(runId, space, { ...run, calls: run.calls.slice(0, -1) }, spaces) },
    },
    by: { ...fenceOf(context), call: callId, step },
    // Whoever is waited for is meant.
    mentions: awaited ?? [],
    starts: true,
    ...(wait ? { wait: { for: awaited ?? null, timeoutMs: wait.timeoutMs ?? WAIT_MS } } : {}),
  });
  if (!posted.ok) {
    switch (posted.code) {
      case 'run_lost':
        return RUN_LOST;
      case 'not_members':
        return nobodyThere(posted.entities ?? []);
      case 'message_id_taken':
        return refused('message_id_taken', 'This was said before.');
      default:
        return notAMember(parts, context, space);
    }
  }
  const place = run.spaces.find((one) => one.id === space);
  const deliveredTo = { spaceId: space, spaceName: place?.name ?? null };
  // From here on the call is settled by those who reply, or by time; said before, it is so since then.
  if (wait) return HANDED_OVER;
  const recipients = posted.recipients.slice(0, 100) as unknown as Json;
  const said = {
    success: true,
    messageId: id,
    status: 'delivered',
    deliveredTo: { ...deliveredTo, recipients },
  };
  return posted.duplicate || !posted.refused ? said : { ...said, notStarted: notStarted(posted.refused) };
}

function nobodyThere(entities: string[]): JsonObject {
  return refused(
    'not_members',
    `Nothing was said: nobody else in this space has the entity id ${entities.join(', ')}. YOUR SPACES and enter_space have the ids.`,
    { entityIds: entities },
  );
}

function notStarted({
  reason,
  entities,
  limit,
}: {
  reason: string;
  entities: string[];
  limit: number;
}): JsonObject {
  const why =
    reason === 'chain_depth'
      ? `${limit} agents have started one another in a row since a person, a plan or a service began this`
      : `agents have started ${limit} runs since a person, a plan or a service began this`;
  return {
    reason,
    entityIds: entities,
    message: `Your message was said, but these agents were not started: ${why}. They will read it when a person says something next. Do not repeat it.`,
  };
}

/** What a later run of the agent cannot know: why this was said. */
function whyOf(
  runId: string,
  space: string,
  run: store.SayingRun,
  spaces: Map<string, string | null>,
): JsonObject {
  const { trigger } = run;
  const nameOf = (id: string | null) => run.spaces.find((one) => one.id === id)?.name ?? null;
  const done = run.calls.filter(({ status }) => status === 'completed');
  return {
    runId,
    trigger: withoutNull({
      type: run.triggerType,
      senderName: trigger.senderName,
      senderType: trigger.senderType,
      messageContent: trigger.text === undefined ? undefined : clip(String(trigger.text), 1_000),
      spaceName: trigger.spaceName,
      spaceId: trigger.spaceId,
      serviceName: trigger.serviceName,
      planName: trigger.planName,
    }),
    actionsBefore: {
      toolsCalled: run.calls
        .filter(({ tool }) => tool !== 'send_message' && tool !== 'enter_space')
        .slice(-20)
        .map(({ tool, args }) => ({ name: tool, args: clip(JSON.stringify(args), 500) })),
      messagesSent: done
        .filter(({ tool }) => tool === 'send_message')
        .slice(-20)
        .map(({ id, args }) => ({
          spaceId: spaces.get(id) ?? null,
          spaceName: nameOf(spaces.get(id) ?? null),
          preview: clip(String((args as JsonObject).text ?? ''), 60),
        })),
      spacesEntered: done
        .filter(({ tool }) => tool === 'enter_space')
        .slice(-20)
        .map(({ args }) => String((args as JsonObject).spaceId)),
    },
    isCrossSpace: run.spaceId !== space,
  };
}

function withoutNull(fields: Record<string, Json | undefined>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as JsonObject;
}

// ---- other runs of the same agent

async function absorbRun(parts: Parts, { runId }: { runId: string }, context: ToolContext): Promise<Json> {
  const target = runId.trim().toLowerCase();
  if (!isId(target))
    return refused('run_not_found', `There is no run ${target}. ACTIVE RUNS and get_my_runs have the ids.`);
  const absorbed = await parts.kernel.absorb(target, fenceOf(context));
  if (!absorbed.ok) return refusedRun(absorbed.code, absorbed.status, 'absorb');
  for (const space of absorbed.spaces ?? []) if (space) parts.kernel.touched(space);
  // These count as seen from here on, so they are shown.
  const folded = await store.foldedInto(parts.db, target);
  return {
    success: true,
    absorbedRunId: target,
    absorbed: {
      trigger: absorbed.trigger,
      ...(folded.length === 0
        ? {}
        : {
            alsoFor: folded.map(({ messageId, senderName, text, createdAt }) => ({
              messageId,
              senderName,
              text,
              timestamp: createdAt.toISOString(),
            })),
          }),
      actionsTaken: absorbed.actions.map(({ tool, args, output, status, error }) => ({
        tool,
        input: args,
        status,
        ...(output == null ? {} : { output }),
        ...(error == null ? {} : { error: error as unknown as Json }),
      })),
    },
  };
}

async function stopRun(parts: Parts, { runId }: { runId: string }, context: ToolContext): Promise<Json> {
  const target = runId.trim().toLowerCase();
  if (!isId(target)) return refused('run_not_found', `There is no run ${target}. get_my_runs has the ids.`);
  const stopped = await store.stopRun(parts.db, target, fenceOf(context));
  if (!stopped.ok) {
    // Carried out before, by this very call.
    const again = stopped.code === 'run_ended' && context.attempt > 1 && stopped.status === 'canceled';
    return again
      ? { success: true, canceledRunId: target }
      : refusedRun(stopped.code, stopped.status, 'stop');
  }
  parts.kernel.changed({ runs: [target], queued: true });
  for (const thread of [stopped.thread, ...stopped.spaces]) if (thread) parts.kernel.touched(thread);
  return { success: true, canceledRunId: target };
}

function refusedRun(code: string, status: string | undefined, what: 'absorb' | 'stop'): Json {
  switch (code) {
    case 'absorber_lost':
    case 'run_lost':
      return RUN_LOST;
    case 'cannot_absorb_itself':
    case 'cannot_stop_itself':
      return refused(
        code,
        `A run cannot ${what} itself.${what === 'stop' ? ' To end, answer without calling a tool.' : ''}`,
      );
    case 'not_your_run':
      return refused(code, `You can ${what} your own runs only.`);
    case 'already_absorbed':
      return refused(code, 'Another run of yours has absorbed it already: leave its matter to that one.');
    case 'run_ended':
      return refused(code, `The run is already ${status}.`, { status: status ?? null });
    default:
      return refused(
        'run_not_found',
        'There is no such run of yours. ACTIVE RUNS and get_my_runs have the ids.',
      );
  }
}

async function getMyRuns(
  { db }: Parts,
  { status, limit = RUNS }: { status?: string; limit?: number },
  { projectId: project, entityId }: ToolContext,
): Promise<Json> {
  const runs = await store.runsOfAgent(db, { project, entity: entityId!, status: status ?? null, limit });
  return {
    runs: runs.map((run) => ({
      runId: run.id,
      status: run.status,
      triggerType: run.triggerType,
      triggerSummary: summaryOf(run.triggerType, run.trigger),
      activeSpaceId: run.activeSpaceId,
      startedAt: run.startedAt && new Date(run.startedAt).toISOString(),
      completedAt: run.completedAt && new Date(run.completedAt).toISOString(),
      messagesSent: run.said as unknown as Json,
      toolsCalled: run.calls.map(({ tool, status: now }) => ({ name: tool, status: now })),
    })),
  };
}
