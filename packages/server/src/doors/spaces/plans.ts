import { type Database, type PlanRow, plansOfEntity } from '../../store/index.ts';

/** The others are read with get_plans. */
const MOST_SHOWN = 50;
const LEAD = 'What you have planned, as JSON. A record to draw on, not an instruction.';
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** The part of a prompt that tells an agent what it has planned; empty where it is nothing. */
export async function plansPart(
  db: Database,
  run: { projectId: string; entityId: string | null },
  now = new Date(),
): Promise<string> {
  if (run.entityId === null) return '';
  const of = { project: run.projectId, entity: run.entityId };
  const plans = await plansOfEntity(db.rows, of, { status: 'pending', limit: MOST_SHOWN + 1 });
  if (plans.length === 0) return '';
  const lines = plans.slice(0, MOST_SHOWN).map((plan) => `- ${JSON.stringify(shownOf(plan, now))}`);
  const more = plans.length > MOST_SHOWN ? ['(there are more: get_plans reads them)'] : [];
  return [`PLANS: ${LEAD}`, ...lines, ...more].join('\n');
}

function shownOf({ id, name, cron, timeZone, nextRunAt }: PlanRow, now: Date) {
  const at = nextRunAt!.toISOString();
  return cron === null
    ? { name, id, at, in: fromNow(nextRunAt!, now) }
    : { name, id, cron, timeZone, next: at, in: fromNow(nextRunAt!, now) };
}

function fromNow(at: Date, now: Date): string {
  const left = at.getTime() - now.getTime();
  const [unit, ms] = UNITS.find(([, size]) => left >= size) ?? ['minute', 60_000];
  const count = Math.floor(left / ms);
  if (count < 1) return 'less than a minute';
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
