import type { Json, JsonObject } from '@troupe/protocol';
import type { FoundMessage, RunContext, RunSeen } from '../../store/index.ts';

// The prompt of a run in a space, section by section. Without clock and database, so that it can be read and tested as a
// text. Whatever somebody said or is called is written as a JSON string: none of it can look like a section or another's line.

/** Of one message, and of the message that began the run. */
const LONGEST_LINE = 4_000;
const LONGEST_TRIGGER = 20_000;
const LONGEST_PREVIEW = 60;
const MOST_CALLS = 12;
const MOST_SAID = 5;

/** What a section may take: so much of the room, and never more bytes than that. */
const SHARES = {
  trigger: { of: 1 / 4, most: 60_000 },
  description: { of: 1 / 20, most: 10_000 },
  history: { of: 1 / 3, most: 60_000 },
  spaces: { of: 1 / 10, most: 16_000 },
  runs: { of: 1 / 10, most: 16_000 },
};

function roomOf(section: keyof typeof SHARES, { room }: PromptInput): number {
  const { of, most } = SHARES[section];
  return Math.min(most, Math.floor(room * of));
}

export interface PromptInput {
  now: Date;
  run: {
    id: string;
    triggerType: string;
    trigger: JsonObject;
    spaceId: string | null;
  };
  context: RunContext;
  /** The space that it speaks in now; null: none. */
  activeSpace: { id: string; name: string | null } | null;
  remembered: string;
  plans: string;
  runs: RunSeen[];
  mayWait: boolean;
  /** The agent's own. */
  prompt: string;
  /** What there is of the model's context, in bytes, for all that is told of the surroundings. */
  room: number;
}

export interface Prompt {
  text: string;
  /** The messages that it shows; null: none. */
  shown: { from: number; upto: number } | null;
}

export function renderPrompt(input: PromptInput): Prompt {
  const { context } = input;
  const history = historyLines(context, input.run, roomOf('history', input));
  const sections = [
    identity(input),
    trigger(input),
    activeSpace(input),
    ...(context.space ? [historySection(input, history)] : []),
    yourSpaces(input),
    input.remembered,
    input.plans,
    activeRuns(input),
    instructions(input),
    input.prompt,
  ];
  const text = sections.filter((section) => section !== '').join('\n\n');
  const { messages } = history;
  return {
    text,
    shown: messages.length > 0 ? { from: messages[0]!.seq, upto: messages.at(-1)!.seq } : null,
  };
}

function identity({ context, now }: PromptInput): string {
  return [
    'IDENTITY:',
    `- name: ${quoted(context.entity.name)}`,
    `- entityId: ${context.entity.id}`,
    `- currentTime: ${now.toISOString()}`,
  ].join('\n');
}

function trigger(input: PromptInput): string {
  const { triggerType, trigger: about } = input.run;
  const most = roomOf('trigger', input);
  const lines: string[] = ['TRIGGER:', `- type: ${triggerType}`];
  switch (triggerType) {
    case 'space_message':
      lines.push(
        `- space: ${named(about.spaceName, about.spaceId)}`,
        `- sender: ${quoted(about.senderName)} (${about.senderType}, ${about.senderId})`,
        `- message: ${fitted(clip(String(about.text ?? ''), LONGEST_TRIGGER), most)}`,
        `- messageId: ${about.messageId}`,
        `- timestamp: ${inSeconds(about.createdAt)}`,
      );
      break;
    case 'plan':
      lines.push(
        `- plan: ${named(about.planName, about.planId)}`,
        `- instruction: ${fitted(clip(String(about.instruction ?? ''), LONGEST_TRIGGER), most)}`,
        `- scheduledAt: ${about.scheduledAt}`,
      );
      break;
    case 'service':
      lines.push(
        `- service: ${quoted(about.serviceName)}`,
        `- payload: ${cutTo(clip(inOneLine(about.payload), LONGEST_TRIGGER), most)}`,
      );
      break;
    default:
      lines.push(`- data: ${cutTo(clip(inOneLine(about), LONGEST_TRIGGER), most)}`);
  }
  return lines.join('\n');
}

function activeSpace(input: PromptInput): string {
  const { activeSpace: active, context, run } = input;
  if (active) {
    const why = active.id === run.spaceId ? 'the space of the trigger, entered for you' : 'entered by you';
    const about = context.space?.id === active.id && context.space.description;
    return `ACTIVE SPACE: ${named(active.name, active.id)}, ${why}.${about ? ` It is described as ${fitted(about, roomOf('description', input))}.` : ''}`;
  }
  return 'ACTIVE SPACE: none. Before you can speak, enter one of YOUR SPACES with enter_space.';
}

// ---- what was said

interface History {
  messages: FoundMessage[];
  lines: string[];
}

/** The newest that fit. */
function historyLines({ history, entity }: RunContext, run: PromptInput['run'], room: number): History {
  const messages: FoundMessage[] = [];
  const lines: string[] = [];
  let left = room;
  for (const message of history.toReversed()) {
    const line = messageLine(message, entity.id, { isTrigger: message.id === run.trigger.messageId, room });
    left -= Buffer.byteLength(line) + 1;
    if (left < 0 && messages.length > 0) break;
    messages.unshift(message);
    lines.unshift(line);
  }
  return { messages, lines };
}

function historySection({ context }: PromptInput, { messages, lines }: History): string {
  const first = messages[0]?.seq ?? 1;
  const before = first > 1 ? ` ${first - 1} earlier ones: read_messages.` : '';
  return [
    `HISTORY of ${named(context.space!.name, context.space!.id)}, oldest first. [SEEN]: earlier runs of yours knew it. [NEW]: none did.${before}`,
    ...(lines.length > 0 ? lines : ['(nothing was said yet)']),
  ].join('\n');
}

/** `[NEW] [id] [2026-11-17T01:11:15Z] Ann (human): "What was said."` */
export function messageLine(
  message: FoundMessage,
  self: string | null,
  { isTrigger = false, room = Number.POSITIVE_INFINITY }: { isTrigger?: boolean; room?: number } = {},
): string {
  const own = message.senderId === self;
  const sender = own
    ? 'You (agent)'
    : `${speakerName(message.senderName ?? 'unknown')} (${message.senderType ?? 'unknown'})`;
  const mark = isTrigger ? '  <== TRIGGER' : '';
  const pictures = message.pictures > 0 ? ` [with ${message.pictures} picture(s)]` : '';
  const line = `[${message.seen ? 'SEEN' : 'NEW'}] [${shortId(message.id)}] [${inSeconds(message.createdAt)}] ${sender}: ${fitted(clip(message.content.text, LONGEST_LINE), room)}${pictures}${mark}`;
  const why = own ? whyLine(message.metadata) : '';
  return why === '' ? line : `${line}\n    ${why}`;
}

/** What an earlier run of the agent had in mind: its next one was not there. */
function whyLine(metadata: JsonObject | null): string {
  const context = metadata?.runContext as JsonObject | undefined;
  if (!context) return '';
  const cause = (context.trigger ?? {}) as JsonObject;
  const before = (context.actionsBefore ?? {}) as { toolsCalled?: { name: string }[]; messagesSent?: Json[] };
  const because =
    cause.type === 'plan'
      ? `the plan ${quoted(cause.planName)}`
      : cause.type === 'service'
        ? `the service ${quoted(cause.serviceName)}`
        : `${quoted(cause.senderName)} saying ${quoted(clip(String(cause.messageContent ?? ''), 200))}`;
  const tools = before.toolsCalled?.map(({ name }) => name) ?? [];
  return [
    `(said because of ${because}${context.isCrossSpace ? ` in ${named(cause.spaceName, cause.spaceId)}` : ''}`,
    tools.length > 0 ? `; after ${tools.slice(0, MOST_CALLS).join(', ')}` : '',
    before.messagesSent?.length ? `; after ${before.messagesSent.length} other message(s)` : '',
    ')',
  ].join('');
}

// ---- what else there is

/** The first is the space of the trigger: half of the room is for its members. The others share the rest. */
function yourSpaces(input: PromptInput): string {
  const { context, activeSpace: active } = input;
  const { spaces, spaceCount } = context;
  if (spaces.length === 0) return 'YOUR SPACES: none.';
  const lines: string[] = [];
  let left = roomOf('spaces', input);
  for (const [index, { id, name, members, memberCount }] of spaces.entries()) {
    let line = `- ${named(name, id)}${id === active?.id ? ' [ACTIVE]' : ''}: you`;
    const share = index === 0 ? left / 2 : left / (spaces.length - index);
    let rest = memberCount - 1;
    for (const member of members) {
      if (member.id === context.entity.id) continue;
      const next = `${line}, ${quoted(member.name ?? 'unknown')} (${member.type}, ${member.id})`;
      if (Buffer.byteLength(next) > share) break;
      line = next;
      rest--;
    }
    if (rest > 0) line += `, and ${rest} more`;
    left -= Buffer.byteLength(line) + 1;
    if (left < 0 && index > 0) break;
    lines.push(line);
  }
  const more = spaceCount > lines.length ? [`(and ${spaceCount - lines.length} more)`] : [];
  return ['YOUR SPACES:', ...lines, ...more].join('\n');
}

function activeRuns(input: PromptInput): string {
  const { runs, run } = input;
  const own = runs.find(({ id }) => id === run.id);
  const others = runs.filter(({ id }) => id !== run.id);
  const lines = [
    `- ${run.id}: this run, begun by ${summaryOf(run.triggerType, own?.trigger ?? run.trigger)}`,
  ];
  let left = roomOf('runs', input);
  for (const other of others) {
    const line = `- ${other.id}: ${other.status}, begun by ${summaryOf(other.triggerType, other.trigger)} at ${new Date(other.createdAt).toISOString()}; ${didOf(other)}`;
    left -= Buffer.byteLength(line) + 1;
    if (left < 0) break;
    lines.push(line);
  }
  const rest = others.length + 1 - lines.length;
  const more = rest > 0 ? [`(and ${rest} older ones: get_my_runs)`] : [];
  return ['ACTIVE RUNS of yours:', ...lines, ...more].join('\n');
}

export function summaryOf(type: string, about: JsonObject): string {
  if (type === 'plan') return `the plan ${quoted(about.planName)}`;
  if (type === 'service') return `the service ${quoted(about.serviceName)}`;
  if (type !== 'space_message') return type;
  return `${quoted(about.senderName ?? 'unknown')} in ${named(about.spaceName, about.spaceId)} saying ${quoted(clip(String(about.text ?? ''), 200))}`;
}

function didOf({ calls, said, activeSpaceId, activeSpaceName }: RunSeen): string {
  const tools = calls.slice(-MOST_CALLS).map(({ tool, status }) => `${tool} (${status})`);
  const sent = said
    .slice(-MOST_SAID)
    .map(
      ({ spaceName, spaceId, text }) =>
        `in ${named(spaceName, spaceId)}: ${quoted(clip(text, LONGEST_PREVIEW))}`,
    );
  return [
    tools.length > 0 ? `called ${tools.join(', ')}` : 'called no tool yet',
    sent.length > 0 ? `said ${sent.join('; ')}` : 'said nothing yet',
    activeSpaceId ? `is in ${named(activeSpaceName, activeSpaceId)}` : 'is in no space',
  ].join('; ');
}

function instructions({ context, mayWait }: PromptInput): string {
  const agents = context.spaces
    .find(({ id }) => id === context.space?.id)
    ?.members.filter(({ type, id }) => type === 'agent' && id !== context.entity.id).length;
  return [
    'INSTRUCTIONS:',
    '- What you write outside of tools is your private reasoning: nobody reads it. Keep it short.',
    '- send_message is the only way to speak. It speaks in the active space; enter_space turns to another one.',
    '- read_messages loads earlier messages: in the active space, or in another of YOUR SPACES by its id.',
    '- Silence is a good answer where you have nothing to add: end without calling send_message.',
    ...(agents
      ? [
          '- There are other agents here. Do not answer what is not for you, do not repeat what was said, and do not thank or greet agents: every message of yours starts them.',
        ]
      : []),
    '- Each message starts a run of its own, and a run remembers nothing of the one before: keep what later runs need with set_memories and set_goals, and what is to be done later with set_plans.',
    '- Where ACTIVE RUNS has another run about the same matter, the one with the latest trigger absorbs the older ones with absorb_run, and answers for both.',
    ...(mayWait
      ? [
          '- send_message with `wait` waits for replies and gives them to you. Use it where you cannot go on without an answer.',
        ]
      : []),
  ].join('\n');
}

// ---- pieces

function shortId(id: string): string {
  // The front of an id is the time: messages of the same minute share it.
  return id.slice(-8);
}

function inSeconds(time: unknown): string {
  const date = new Date(String(time));
  return Number.isNaN(date.getTime()) ? quoted(time) : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** A name that could be taken for another part of the line, or for the agent itself, is written as a JSON string. */
function speakerName(name: string): string {
  return /^[\p{L}\p{N}][\p{L}\p{M}\p{N} .,'’_-]*$/u.test(name) && name.toLowerCase() !== 'you'
    ? name
    : quoted(name);
}

function named(name: unknown, id: unknown): string {
  return `${quoted(name ?? 'unnamed')} (${id ?? 'gone'})`;
}

function quoted(value: unknown): string {
  return inOneLine(value ?? '');
}

/** JSON leaves some characters alone that end a line for whoever reads it. */
function inOneLine(value: unknown): string {
  return JSON.stringify(value ?? null).replace(
    /[\u0085\u2028\u2029]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** As a JSON string of at most so many bytes. */
function fitted(text: string, most: number): string {
  let shown = text;
  while (shown !== '' && Buffer.byteLength(quoted(shown)) > most) {
    const share = (most / Buffer.byteLength(quoted(shown))) * 0.95;
    shown = clip(shown, Math.floor((shown.length - 1) * share));
    if (shown.length <= 1) return quoted('…');
  }
  return quoted(shown);
}

function cutTo(line: string, most: number): string {
  const bytes = Buffer.from(line);
  return bytes.length <= most
    ? line
    : `${bytes
        .subarray(0, most)
        .toString()
        .replace(/\uFFFD+$/u, '')}…`;
}

export function clip(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…`.toWellFormed() : text;
}
