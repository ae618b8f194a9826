import { type Json, oneLine, type PlanStatus } from '@troupe/protocol';
import { isId, TroupeError } from '../../base/index.ts';
import type { ToolContext } from '../../kernel/ports.ts';
import type { GivenPlan, KeptPlan, PlansByCall, PlansPart, Provider } from '../ports.ts';

// Arguments fit the schemas of the tools by the time they come here.

const MOST_SHOWN = 200;
/** What one result may hold, so that it stays far below what a tool may answer. */
const MOST_BYTES = 100_000;

type Act = (args: never, by: PlansByCall) => Promise<Json>;

export function planTools(part: PlansPart): [string, Provider][] {
  const acts: Record<string, Act> = {
    set_plans: async ({ plans }: { plans: GivenPlan[] }, by) => {
      const set = await part.set(
        by,
        plans.map((plan) => ({ ...plan, name: checkedName(plan.name) })),
      );
      const created = set.filter((plan) => plan.created).length;
      return {
        success: true,
        created,
        updated: set.length - created,
        plans: set.map(({ id, name, nextRunAt }) => ({ id, name, nextRunAt })),
      };
    },
    get_plans: async ({ status }: { status?: PlanStatus }, by) => {
      const rows = (await part.list(by, status ?? null, MOST_SHOWN)).map(shownOf);
      const fit = fitting(rows);
      return fit.length === rows.length
        ? { plans: rows }
        : { plans: fit, notShown: rows.length - fit.length };
    },
    delete_plans: async ({ planIds }: { planIds: string[] }, by) => ({
      success: true,
      deleted: await part.delete(by, planIds.filter(isId)),
    }),
  };
  return Object.entries(acts).map(([name, act]) => [
    name,
    () => (args, context) => act(args as never, byOf(context)),
  ]);
}

function byOf({ projectId, agentId, entityId, runId, epoch, worker, callId }: ToolContext): PlansByCall {
  if (entityId === null || agentId === null) {
    throw new TroupeError(
      'no_entity',
      'This run speaks as nobody: there is no one whose plans these would be.',
    );
  }
  return { project: projectId, agent: agentId, entity: entityId, run: runId, epoch, worker, call: callId };
}

function checkedName(name: string): string {
  const checked = name.trim();
  if (checked.length >= 1 && checked.length <= 200 && oneLine.test(checked)) return checked;
  throw new TroupeError(
    'invalid_name',
    `${JSON.stringify(name.slice(0, 50))} cannot be the name of a plan: use one line of 1 to 200 characters. Nothing was changed.`,
  );
}

function shownOf(plan: KeptPlan) {
  const { id, name, instruction, status, runAfter, scheduledAt, cron, timeZone, nextRunAt, lastRunAt } = plan;
  return {
    id,
    name,
    instruction,
    status,
    ...(runAfter === null ? {} : { runAfter }),
    ...(scheduledAt === null ? {} : { scheduledAt: scheduledAt.toISOString() }),
    ...(cron === null ? {} : { cron, timeZone }),
    nextRunAt: nextRunAt?.toISOString() ?? null,
    lastRunAt: lastRunAt?.toISOString() ?? null,
  };
}

function fitting<Row>(rows: Row[]): Row[] {
  let left = MOST_BYTES;
  const end = rows.findIndex((row) => {
    left -= Buffer.byteLength(JSON.stringify(row));
    return left < 0;
  });
  return end < 0 ? rows : rows.slice(0, Math.max(end, 1));
}
