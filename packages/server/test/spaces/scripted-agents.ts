import type { Script } from '@troupe/server/parts';
import { SpaceFixture, type SpaceFixtureOptions } from './fixture.ts';

export type Turns = Exclude<Script, (...args: never[]) => unknown>;
export type Request = Parameters<Extract<Script, (...args: never[]) => unknown>>[0];
type Part = (request: Request) => Turns | Promise<Turns>;

/** What a prompt says, for scripts that decide by it. */
export const nameIn = (system: string) => /^- name: "(.*)"$/m.exec(system)![1]!;
export const triggerIn = (system: string) =>
  JSON.parse(/^- message: (".*")$/m.exec(system)?.[1] ?? '""') as string;
/** SEEN or NEW and the text of every line of the history. */
export const marksIn = (system: string) =>
  system.split('\n').flatMap((line) => {
    const found = /^\[(SEEN|NEW)\] \[\w{8}\] \S+ .*?\): (".*?[^\\]")( {2}<== TRIGGER)?$/.exec(line);
    return found ? [`${found[1]} ${JSON.parse(found[2]!)}`] : [];
  });

export const call = (name: string, args: object = {}) => ({ name, arguments: args as never });
export const calls = (...list: ReturnType<typeof call>[]) => ({ calls: list });
export const say = (text: string) => calls(call('send_message', { text }));
export const enter = (spaceId: string) => calls(call('enter_space', { spaceId }));
export const end = { text: 'Done.' };

/** A fixture whose agents do what their part says, by their name; one without a part says nothing. */
export async function openScriptedSpaces(
  more: SpaceFixtureOptions = {},
): Promise<{ fixture: SpaceFixture; parts: Map<string, Part> }> {
  const parts = new Map<string, Part>();
  const fixture = await SpaceFixture.open(async (request) => {
    const turns = await parts.get(nameIn(request.system))?.(request);
    return turns?.[request.step - 1] ?? end;
  }, more);
  return { fixture, parts };
}

/** A promise and what opens it. */
export function gate(): { closed: Promise<void>; open: () => void } {
  let open = () => {};
  const closed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { closed, open };
}
