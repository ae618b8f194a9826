import { memberRole, ordering, type SpaceMessage, spacePolicy } from '@troupe/protocol';
import type { Space } from '@troupe/sdk';
import { json, MORE, plain, table } from '../output.ts';
import { limitOf, oneOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { findAgent } from './find-agent.ts';
import { findEntity, findSpace, findSpeaker } from './find-space.ts';
import { show } from './show.ts';
import { everything, PAGE } from './thread.ts';
import { watch } from './watch.ts';

export const spaces: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data, nextCursor } = await troupe.spaces.list({ query: { limit: limitOf(options) } });
    const columns = ['id', 'name', 'policy', 'memberCount', 'lastSequence', 'lastActivityAt'];
    terminal.out(options.json ? json(data) : table(data, columns));
    if (nextCursor) terminal.err(MORE);
  },
  async create(given) {
    const { troupe, words, options } = given;
    const agents = await Promise.all((options.agent ?? []).map((name) => findAgent(troupe, name)));
    const members = [
      ...(options.user ?? []).map((user) => ({ user })),
      ...agents.map(({ id }) => ({ agentId: id, ...orderingIn(options) })),
    ];
    const body = { name: words[0]!, members, ...policyIn(options), ...describedIn(options) };
    show(given, await troupe.spaces.create({ body }));
  },
  async get(given) {
    show(given, await findSpace(given.troupe, given.words[0]!));
  },
  async update(given) {
    const { options } = given;
    const { name } = options;
    const body = {
      ...(name === undefined ? {} : { name: name === 'none' ? null : name }),
      ...policyIn(options),
      ...describedIn(options),
    };
    if (Object.keys(body).length === 0)
      throw new UsageError('there is nothing to change', 'Give --name, --policy or --description.');
    show(given, await (await find(given)).update(body));
  },
  async delete(given) {
    const space = await find(given);
    await space.delete();
    given.terminal.out(given.options.json ? json({ id: space.id }) : `${space.id} is deleted\n`);
  },
  async members(given) {
    const members = await (await find(given)).members();
    const columns = ['entityId', 'name', 'type', 'role', 'ordering', 'joinedAt'];
    given.terminal.out(given.options.json ? json(members) : table(members, columns));
  },
  async add(given) {
    const { troupe, terminal, options } = given;
    const role = options.role ? { role: oneOf('role', options.role, memberRole.options) } : {};
    const more = { ...role, ...orderingIn(options) };
    const agents = await Promise.all((options.agent ?? []).map((name) => findAgent(troupe, name)));
    const wanted = [
      ...agents.map(({ id }) => ({ agentId: id, ...more })),
      ...(options.user ?? []).map((user) => ({ user, ...more })),
    ];
    if (wanted.length === 0) throw new UsageError('nobody is named', 'Give --agent or --user.');
    const space = await find(given);
    const added = [];
    for (const one of wanted) added.push(await space.addMember(one));
    const columns = ['entityId', 'name', 'type', 'role', 'ordering'];
    terminal.out(options.json ? json(added) : table(added, columns));
  },
  async remove(given) {
    const { troupe, terminal, words, options } = given;
    const space = await find(given);
    const entityId = await findEntity(troupe, words[1]!, await space.members());
    await space.removeMember(entityId);
    terminal.out(options.json ? json({ entityId }) : `${plain(words[1]!)} is removed\n`);
  },
  async post(given) {
    const { troupe, terminal, words, options } = given;
    const space = await find(given);
    const speaker = await findSpeaker(troupe, options.as, await space.members());
    const posted = await space.as(speaker).post(words.slice(1).join(' '));
    if (options.json) return terminal.out(json(posted));
    terminal.out(lineOf(posted));
    const { length } = posted.runs;
    terminal.err(
      `${length === 1 ? '1 run is' : `${length} runs are`} for it. troupe spaces watch ${space.id}\n`,
    );
  },
  async messages(given) {
    const { terminal, options } = given;
    const space = await find(given);
    const search = options.search ? { search: options.search } : {};
    const all = await everything((after) => space.messages({ after, limit: PAGE, ...search }));
    if (options.json) return terminal.out(json(all));
    terminal.out(all.length === 0 ? 'none\n' : all.map(lineOf).join(''));
  },
  watch,
};

function lineOf({ sequence, senderName, content }: SpaceMessage): string {
  return plain(`${sequence}  ${senderName ?? 'unknown'}: ${content.text}\n`);
}

function policyIn({ policy }: Surroundings['options']) {
  return policy ? { policy: oneOf('policy', policy, spacePolicy.options) } : {};
}

function describedIn({ description }: Surroundings['options']) {
  return description === undefined ? {} : { description: description === 'none' ? null : description };
}

function orderingIn({ ordering: given }: Surroundings['options']) {
  return given ? { ordering: oneOf('ordering', given, ordering.options) } : {};
}

async function find({ troupe, words }: Surroundings): Promise<Space> {
  return troupe.space((await findSpace(troupe, words[0]!)).id);
}
