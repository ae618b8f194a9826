import { randomUUID } from 'node:crypto';
import type { Membership } from '@troupe/protocol';
import type { FollowedSpace, Space, StreamItem } from '@troupe/sdk';
import { plain } from '../output.ts';
import type { Command, Surroundings } from './command.ts';
import { findSpace, findSpeaker } from './find-space.ts';
import { Watching } from './watching.ts';

/** What shells tell of a program that Ctrl-C ended. */
const INTERRUPTED = 130;
const BEFORE = 20;
const ENDS = ['run.completed', 'run.failed', 'run.canceled', 'run.absorbed'];

/**
 * A space as it happens, until Ctrl-C. With `--as`, lines are posted; where they end, it ends when the runs have that they
 * started.
 */
export const watch: Command = async (given) => {
  const { troupe, terminal, words, options } = given;
  const row = await findSpace(troupe, words[0]!);
  const space = troupe.space(row.id);
  const members = await space.members();
  const speaker = options.as === undefined ? null : await findSpeaker(troupe, options.as, members);
  const interrupt = new AbortController();
  const undo = terminal.onInterrupt(() => interrupt.abort());
  const watching = options.json ? null : new Watching(terminal, speaker);
  const awaited = new Awaited();
  if (!options.json && terminal.isWatched) terminal.err(heading(row.name, members, speaker !== null));
  let shown = 0;
  const followed: FollowedSpace = space.follow({
    pageSize: BEFORE,
    signal: interrupt.signal,
    onItem: (item) => {
      watching?.hear(item, followed.state);
      if (options.json) terminal.out(`${JSON.stringify(item)}\n`);
      awaited.hear(item);
    },
  });
  followed.onChange(() => {
    watching?.show(followed.state);
    if (!options.json) return;
    for (const message of followed.state.messages.filter(({ sequence }) => sequence > shown)) {
      terminal.out(`${JSON.stringify({ kind: 'message', message })}\n`);
      shown = message.sequence;
    }
  });
  try {
    await followed.ready;
    const ended = new Promise<void>((resolve) => {
      const look = () => followed.state.status === 'ended' && resolve();
      followed.onChange(look);
      look();
    });
    if (speaker === null) await ended;
    else
      await Promise.race([
        ended,
        talk(given, space.as(speaker), { awaited, watching, signal: interrupt.signal }),
      ]);
    if (interrupt.signal.aborted) return INTERRUPTED;
    if (followed.state.error) throw followed.state.error;
    return 0;
  } catch (error) {
    if (interrupt.signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    followed.close();
    watching?.stop();
    undo();
  }
};

async function talk(
  { terminal }: Surroundings,
  space: Space,
  { awaited, watching, signal }: { awaited: Awaited; watching: Watching | null; signal: AbortSignal },
): Promise<void> {
  const lines = terminal.lines('')[Symbol.asyncIterator]();
  const leave = () => void lines.return?.();
  signal.addEventListener('abort', leave, { once: true });
  try {
    for (let line = await lines.next(); !line.done && !signal.aborted; line = await lines.next()) {
      if (line.value.trim() === '') continue;
      const id = randomUUID();
      watching?.typed(id);
      const posted = await space.post({ id, content: { text: line.value } }, { signal });
      for (const { id } of posted.runs) awaited.add(id);
    }
    await awaited.all();
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}

/** Runs that were started here. The end of one may be heard before it is known that it was. */
class Awaited {
  readonly #open = new Set<string>();
  readonly #ended = new Set<string>();
  #resolve: () => void = () => {};

  add(run: string): void {
    if (!this.#ended.has(run)) this.#open.add(run);
  }

  hear(item: StreamItem): void {
    if (item.kind !== 'event' || !ENDS.includes(item.event.type)) return;
    this.#ended.add(item.event.runId!);
    this.#open.delete(item.event.runId!);
    // Whoever took it over answers for it.
    const { absorbedBy } = item.event.data;
    if (typeof absorbedBy === 'string') this.add(absorbedBy);
    if (this.#open.size === 0) this.#resolve();
  }

  all(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.#open.size === 0) resolve();
    });
  }
}

function heading(name: string | null, members: Membership[], isSpeaking: boolean): string {
  const names = members
    .slice(0, 20)
    .map((member) => `${member.name ?? 'unnamed'}${member.type === 'agent' ? ' (agent)' : ''}`);
  const more = members.length > names.length ? `, and ${members.length - names.length} more` : '';
  const how = isSpeaking ? 'What you type is said. Ctrl-D ends it' : 'Ctrl-C ends it';
  return plain(`${name ?? 'A space'}: ${names.join(', ')}${more}. ${how}; the space stays.\n\n`);
}
