import type { AgentSnapshot, ContentPart, JsonObject } from '@troupe/protocol';
import { type Door, type RunView, toModelMessages } from '../../kernel/index.ts';
import { rememberedPart } from '../../memories/index.ts';
import {
  contextOfRun,
  type Database,
  findKeptPrompt,
  keepPrompt,
  runsOfAgent,
  type StoredMessage,
} from '../../store/index.ts';
import { BYTES_PER_TOKEN, roomFor, shortened, stoppedEmpty, tasksPart } from '../shared/index.ts';
import { activeSpaceOf, placesOf, triggerSpaceOf } from './active-space.ts';
import { DOOR } from './door-name.ts';
import { liveIn } from './live.ts';
import { plansPart } from './plans.ts';
import { renderPrompt } from './prompt.ts';
import { withShown } from './shown.ts';
import { spaceTools } from './tools.ts';

const HISTORY_MESSAGES = 50;
const MOST_RUNS = 20;
const FAILED: ReadonlySet<string> = new Set(['failed', 'canceled', 'expired', 'in_doubt']);
const GO = 'Carry out this run now, as the instructions say.';

/** Many people and many agents in one conversation. A run knows what its prompt tells it, and speaks by `send_message` only. */
export function createSpacesDoor(db: Database): Door {
  // What a run is told is made once for as long as a worker has it: what changes meanwhile starts runs of its own.
  const prompts = new WeakMap<RunView['run'], Prompt>();
  return {
    name: DOOR,
    tools: (snapshot: AgentSnapshot) => spaceTools(snapshot),
    context: async (view) => {
      const { run, snapshot } = view;
      let prompt = prompts.get(run);
      if (prompt === undefined) {
        prompt = await (view.past ? promptThen(db, view) : promptFor(db, view));
        prompts.set(run, prompt);
      }
      const { system, parts, changed } = prompt;
      const room = roomFor({ ...view, snapshot: { ...snapshot, prompt: system } });
      const said = toModelMessages(view.transcript, view);
      return {
        system,
        messages: shortened([{ role: 'user', text: GO, ...(parts ? { parts } : {}) }, ...said], room),
        ...(changed ? { changed } : {}),
      };
    },
    live: (view) => liveIn(view, (space) => prompts.get(view.run)?.spaces.has(space) ?? false),
    threads: (view) =>
      [...new Set([triggerSpaceOf(view.run), activeSpaceOf(view)])].filter((space) => space !== null),
    // A message that was streamed and will not come is withdrawn in its space.
    tells: ({ tool, status, output }) =>
      tool === 'send_message' && (FAILED.has(status) || (output as JsonObject | null)?.success === false),
    settle: (view, answer) => {
      const stopped = stoppedEmpty(answer, view, FILTER_ADVICE);
      if (stopped) return stopped;
      const { text, calls } = answer;
      const said = messagesSaid(view.transcript);
      const places = placesOf(view, calls);
      return {
        ...(places.length > 0 ? { places } : {}),
        calls: withShown(view, calls, (space) => prompts.get(view.run)?.spaces.has(space) ?? true),
        messages: text === '' ? [] : [{ role: 'assistant', content: { text } }],
        outcome: { silent: said.length === 0, messageIds: said, ...(text === '' ? {} : { text }) },
      };
    },
  };
}

/** What a run is told, and the spaces that its agent was a member of then. */
interface Prompt {
  system: string;
  /** With the pictures of the message that began the run. */
  parts: ContentPart[] | null;
  spaces: ReadonlySet<string>;
  /** What may be otherwise than it was then. */
  changed?: string[];
}

/** What it was told when it took the step: that was kept, since what it was made of has changed. */
async function promptThen(db: Database, view: RunView): Promise<Prompt> {
  const [kept, made] = await Promise.all([
    findKeptPrompt(db, view.run.id, view.step),
    promptFor(db, view).catch((error: unknown) => {
      // Its space may be gone, and the agent with it.
      if (view.past) return null;
      throw error;
    }),
  ]);
  if (kept !== null) return { system: kept, parts: made?.parts ?? null, spaces: new Set() };
  if (!made) throw new Error(`what run ${view.run.id} was told is not kept`);
  return { ...made, changed: ['What it was told is not kept any more: this is made of what there is now.'] };
}

async function promptFor(db: Database, view: RunView): Promise<Prompt> {
  const { run, snapshot } = view;
  const { projectId: project, entityId } = run;
  const entity = entityId!;
  const [context, runs, remembered, plans, tasks] = await Promise.all([
    contextOfRun(db, run.id, HISTORY_MESSAGES),
    runsOfAgent(db, { project, entity, status: 'live', limit: MOST_RUNS }),
    rememberedPart(db, snapshot, run),
    plansPart(db, run),
    tasksPart(db, snapshot, run),
  ]);
  if (!context) throw new Error(`run ${run.id} is gone`);
  const active = activeSpaceOf(view);
  const known = context.spaces.find(({ id }) => id === active);
  const { text, shown } = renderPrompt({
    now: new Date(),
    run: { ...run, spaceId: triggerSpaceOf(run) },
    context,
    activeSpace: active === null ? null : { id: active, name: known?.name ?? null },
    remembered: [remembered, tasks].filter((part) => part !== '').join('\n\n'),
    plans,
    runs,
    mayWait: snapshot.replyWaiting === true,
    prompt: snapshot.prompt,
    room: roomFor(view) * BYTES_PER_TOKEN,
  });
  // Before the model sees it: what a run was shown is known whoever goes on with it.
  if (!view.past) {
    const fence = { run: run.id, epoch: run.epoch, worker: view.worker };
    const space = context.space?.id ?? null;
    await keepPrompt(db, fence, {
      step: view.step,
      system: text,
      space,
      shown: space === null ? null : shown,
    });
  }
  const pictures = context.triggerParts?.filter(({ type }) => type === 'image') ?? [];
  return {
    system: text,
    parts: pictures.length > 0 ? [{ type: 'text', text: GO }, ...pictures] : null,
    spaces: new Set(context.spaces.map(({ id }) => id)),
  };
}

/** The ids of what the run said, in its order. */
function messagesSaid(transcript: readonly StoredMessage[]): string[] {
  const speaking = new Set(
    transcript
      .filter(({ role, content }) => role === 'tool_call' && (content as JsonObject).name === 'send_message')
      .map(({ callId }) => callId),
  );
  return transcript.flatMap(({ role, callId, content }) => {
    if (role !== 'tool_result' || !speaking.has(callId)) return [];
    const result = (content as JsonObject).result as JsonObject | null;
    return result?.success === true && typeof result.messageId === 'string' ? [result.messageId] : [];
  });
}

const FILTER_ADVICE = 'Give the agent another model, or remove the filtered content from the conversation.';
