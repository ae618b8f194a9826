import type { ModelDouble, ModelFault } from '../doubles/model.ts';
import type { Receiver, WebhookFault } from '../doubles/receiver.ts';
import type { ToolDouble, ToolFault } from '../doubles/tools.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Member } from '../fleet/member.ts';
import type { Random } from '../random.ts';
import type { Planned } from './schedule.ts';

/** What faults act on. */
export interface Stage {
  fleet: Fleet;
  models: ModelDouble;
  tools: ToolDouble;
  receiver: Receiver;
  random: Random;
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Carries a fault out and heals it; resolves when it is over. `note` adds what it did to the record. */
export async function carryOut(planned: Planned, stage: Stage, note: (text: string) => void): Promise<void> {
  const { kind, durationMs, target, share } = planned;
  const { fleet, models, tools, receiver, random } = stage;
  const [group, way] = kind.split('.') as [string, string];
  const of = (role: 'serve' | 'work') => fleet.role(role)[target % fleet.role(role).length]!;
  const anyLink = () => {
    const member = fleet.members[target % fleet.members.length]!;
    const link = member.links[target % member.links.length]!;
    note(member.name);
    return link;
  };
  const during = async (begin: () => void, heal: () => void) => {
    begin();
    await wait(durationMs);
    heal();
  };
  const chosen = () => random.chance(share);
  switch (group) {
    case 'serve':
    case 'work':
      return process_(of(group), way, durationMs, note);
    case 'postgres':
      return fleet.postgres.restart(
        ({ restart: 'SIGINT', crash: 'SIGQUIT', kill: 'SIGKILL' } as const)[way as 'kill'],
      );
    case 'backend':
      return fleet.postgres.killBackend();
    case 'backends':
      note(`${await fleet.postgres.terminateBackends(share)} connections`);
      return;
    case 'connections': {
      const release = await fleet.postgres.takeAllConnections();
      await wait(durationMs);
      return release();
    }
    case 'pooler':
      return fleet.pooler?.restart(chosen() ? 'SIGKILL' : 'SIGTERM');
    case 'model':
      return during(
        () => models.fail(way as ModelFault, share),
        () => models.heal(),
      );
    case 'tool':
      return during(
        () => tools.fail(way as ToolFault, share),
        () => tools.heal(),
      );
    case 'webhook':
      return during(
        () => receiver.fail(way as WebhookFault, share),
        () => receiver.heal(),
      );
    case 'link': {
      const link = anyLink();
      if (way === 'cut') note(`${link.cut(chosen)} connections`);
      else if (way === 'half-close') note(`${link.halfClose(chosen)} connections`);
      else if (way === 'slow')
        await during(
          () => link.slow(random.int(20, 150)),
          () => link.heal(),
        );
      else
        await during(
          () => (way === 'stall' ? link.stall() : link.refuse()),
          () => link.heal(),
        );
      return;
    }
  }
}

async function process_(
  member: Member,
  way: string,
  durationMs: number,
  note: (text: string) => void,
): Promise<void> {
  note(`${member.name} (${member.pid})`);
  if (way === 'kill') return member.end('SIGKILL', durationMs);
  if (way === 'term') return member.end('SIGTERM', 0);
  member.signal('SIGSTOP');
  await wait(durationMs);
  member.signal('SIGCONT');
}
