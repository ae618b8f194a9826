import type pg from 'pg';

// The test's own book of what was really done, apart from what the kernel believes: a row is committed before the
// effect begins, so that a repetition shows. Each row also says what the kernel had on record at that moment.

export interface Effect {
  run: string;
  kind: 'model' | 'tool';
  name: string;
  /** Empty for a model. */
  call: string;
  step: number;
  attempt: number;
  worker: string;
  /** Null for a model: it is not told. */
  epoch: number | null;
}

export async function createEffects(pool: pg.Pool): Promise<void> {
  await pool.query(`create table effects (
    id bigint generated always as identity, at timestamptz not null default clock_timestamp(),
    run_id uuid, kind text, name text, call_id text, step int, attempt int, worker_id uuid, pid int,
    -- not yet on record as done
    open boolean,
    -- the process that does it holds the run
    held boolean,
    -- runs at work in all processes
    running int)`);
}

export async function recordEffect(pool: pg.Pool, effect: Effect): Promise<void> {
  await pool.query(
    `insert into effects (run_id, kind, name, call_id, step, attempt, worker_id, pid, open, held, running)
     select $1, $2, $3, $4, $5, $6, $7, $9,
       case $2 when 'model' then h.step < $5
         else exists (select from troupe.tool_calls c where c.run_id = $1 and c.call_id = $4 and c.status = 'running') end,
       r.status = 'running' and r.worker_id = $7 and r.epoch = coalesce($8, r.epoch),
       (select count(*) from troupe.runs x where x.status = 'running')
     from troupe.runs r join troupe.run_heads h on h.run_id = r.id where r.id = $1`,
    [
      effect.run,
      effect.kind,
      effect.name,
      effect.call,
      effect.step,
      effect.attempt,
      effect.worker,
      effect.epoch,
      process.pid,
    ],
  );
}

/** What was done and should not have been, or the reverse. One sentence each. */
export async function effectProblems(pool: pg.Pool): Promise<string[]> {
  const found: string[] = [];
  for (const [what, text] of Object.entries(CHECKS)) {
    const { rows } = await pool.query(text);
    for (const row of rows.slice(0, 5)) found.push(`${what}: ${JSON.stringify(row)}`);
  }
  return found;
}

const CALLS = `select c.run_id, c.call_id, c.tool, c.effect, c.status, c.settled_by, c.attempt, count(e.id) as times
  from troupe.tool_calls c left join effects e on e.run_id = c.run_id and e.call_id = c.call_id and e.kind = 'tool'
  group by c.run_id, c.call_id`;

const CHECKS: Record<string, string> = {
  'something was done that was on record as done': `select * from effects where not open`,
  'something was begun by a process that did not hold the run': `select * from effects where not held`,
  'a try of a call was executed twice': `
    select run_id, call_id, attempt, count(*) from effects where kind = 'tool' group by 1, 2, 3 having count(*) > 1`,
  // Only a person who lets a call in doubt through once more has it tried again; an approval is for once.
  'a once call was executed more often than it was let': `select * from (${CALLS}) c where effect = 'once' and times > attempt`,
  'an approved call went by without an approval': `select c.run_id, c.call_id from effects e join troupe.tool_calls c on c.run_id = e.run_id and c.call_id = e.call_id
    where e.name = 'send' and (select count(*) from troupe.events v where v.run_id = c.run_id and v.type = 'tool.approved' and v.data->>'id' = c.call_id) <> 1`,
  'a completed call was not executed': `select * from (${CALLS}) c where status = 'completed' and settled_by is null and times = 0`,
  'only a once call can be in doubt': `select * from (${CALLS}) c where status = 'in_doubt' and effect <> 'once'`,
  'a step was answered twice': `
    select run_id, step, count(*) from troupe.messages where role = 'assistant' group by 1, 2 having count(*) > 1`,
};
