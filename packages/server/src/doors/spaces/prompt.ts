import type { Json, JsonObject } from '@troupe/protocol';
import type { FoundMessage, RunContext, RunSeen } from '../../store/index.ts';

// The prompt of a run in a space, section by section. Without clock and database, so that it can be read and tested as a
// text. Whatever somebody said is written as a JSON string: nothing that is said can look like a section or another's line.

/** Of one message, and of the message that began the run. */
const LONGEST_LINE = 4_000;
const LONGEST_TRIGGER = 20_000;
const LONGEST_PREVIEW = 60;
const MOST_CALLS = 12;

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
  /** What the history may take, in bytes. */
  room: number;
}

export interface Prompt {
  text: string;
  /** The messages that it shows; null: none. */
  shown: { from: number; upto: number } | null;
}

export function renderPrompt(input: PromptInput): Prompt {
  const { context } = input;
  const history = historyLines(context, input.run, input.room);
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

function trigger({ run: { triggerType, trigger: about } }: PromptInput): string {
  const lines: (string | null)[] = ['TRIGGER:', `- type: ${triggerType}`];
  switch (triggerType) {
    case 'space_message':
      lines.push(
        `- space: ${named(about.spaceName, about.spaceId)}`,
        `- sender: ${quoted(about.senderName)} (${about.senderType}, ${about.senderId})`,
        `- message: ${quoted(clip(String(about.text ?? ''), LONGEST_TRIGGER))}`,
        `- messageId: ${about.messageId}`,
        `- timestamp: ${about.createdAt}`,
      );
      break;
    case 'plan':
      lines.push(
        `- plan: ${named(about.planName, about.planId)}`,
        `- instruction: ${quoted(clip(String(about.instruction ?? ''), LONGEST_TRIGGER))}`,
        `- scheduledAt: ${about.scheduledAt}`,
      );
      break;
    case 'service':
      lines.push(
        `- service: ${quoted(about.serviceName)}`,
        `- payload: ${clip(JSON.stringify(about.payload ?? null), LONGEST_TRIGGER)}`,
      );
      break;
    default:
      lines.push(`- data: ${clip(JSON.stringify(about), LONGEST_TRIGGER)}`);
  }
  return lines.join('\n');
}

function activeSpace({ activeSpace: active, context, run }: PromptInput): string {
  if (active) {
    const why = active.id === run.spaceId ? 'the space of the trigger, entered for you' : 'entered by you';
    const about = context.space?.id === active.id && context.space.description;
    return `ACTIVE SPACE: ${named(active.name, active.id)}, ${why}.${about ? ` It is described as ${quoted(about)}.` : ''}`;
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
    const line = messageLine(message, entity.id, message.id === run.trigger.messageId);
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

export function messageLine(message: FoundMessage, self: string, isTrigger: boolean): string {
  const own = message.senderId === self;
  const sender = own
    ? 'You (agent)'
    : `${message.senderName ?? 'unknown'} (${message.senderType ?? 'unknown'})`;
  const mark = isTrigger ? '  <== TRIGGER' : '';
  const line = `[${message.seen ? 'SEEN' : 'NEW'}] [${shortId(message.id)}] ${message.createdAt} ${sender}: ${quoted(clip(message.content.text, LONGEST_LINE))}${mark}`;
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

function yourSpaces({ context, activeSpace: active }: PromptInput): string {
  const { spaces, spaceCount } = context;
  if (spaces.length === 0) return 'YOUR SPACES: none.';
  const lines = spaces.map(({ id, name, members, memberCount }) => {
    const names = members.map((member) =>
      member.id === context.entity.id ? 'you' : `${oneLine(member.name)} (${member.type}, ${member.id})`,
    );
    const more = memberCount > members.length ? `, and ${memberCount - members.length} more` : '';
    return `- ${named(name, id)}${id === active?.id ? ' [ACTIVE]' : ''}: ${names.join(', ')}${more}`;
  });
  const more = spaceCount > spaces.length ? [`(and ${spaceCount - spaces.length} more)`] : [];
  return ['YOUR SPACES:', ...lines, ...more].join('\n');
}

function activeRuns({ runs, run }: PromptInput): string {
  const own = runs.find(({ id }) => id === run.id);
  const others = runs.filter(({ id }) => id !== run.id);
  const lines = [
    `- ${run.id}: this run, begun by ${summaryOf(run.triggerType, own?.trigger ?? run.trigger)}`,
    ...others.map(
      (other) =>
        `- ${other.id}: ${other.status}, begun by ${summaryOf(other.triggerType, other.trigger)} at ${other.createdAt}; ${didOf(other)}`,
    ),
  ];
  return ['ACTIVE RUNS of yours:', ...lines].join('\n');
}

export function summaryOf(type: string, about: JsonObject): string {
  if (type === 'plan') return `the plan ${quoted(about.planName)}`;
  if (type === 'service') return `the service ${quoted(about.serviceName)}`;
  if (type !== 'space_message') return type;
  return `${oneLine(about.senderName)} in ${named(about.spaceName, about.spaceId)} saying ${quoted(clip(String(about.text ?? ''), 200))}`;
}

function didOf({ calls, said, activeSpaceId, activeSpaceName }: RunSeen): string {
  const tools = calls.slice(-MOST_CALLS).map(({ tool, status }) => `${tool} (${status})`);
  const sent = said.map(
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

export function shortId(id: string): string {
  // The front of an id is the time: messages of the same minute share it.
  return id.slice(-8);
}

function named(name: unknown, id: unknown): string {
  return `${quoted(name ?? 'unnamed')} (${id ?? 'gone'})`;
}

function quoted(value: unknown): string {
  return JSON.stringify(value ?? '');
}

function oneLine(value: unknown): string {
  return String(value ?? 'unknown').replace(/\s+/gu, ' ');
}

export function clip(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…`.toWellFormed() : text;
}
