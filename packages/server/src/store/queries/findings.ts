import type { Database } from '../database.ts';

export interface Finding {
  question: string;
  claim: string;
  source: string;
  quote: string;
  confidence: string;
}

/** Who writes: the run with the fence that its worker holds, and the call that it is for. */
export interface FindingWriter {
  projectId: string;
  threadId: string;
  runId: string;
  callId: string;
  epoch: number;
  worker: string;
}

/**
 * How many the thread then has; `lost` where the worker no longer has the run, `full` where there were `most` already. The head
 * is held until the statement ends, so that the run cannot be taken away in between.
 */
export async function addFinding(
  db: Database,
  writer: FindingWriter,
  finding: Finding,
  most: number,
): Promise<number | 'lost' | 'full'> {
  const { projectId, threadId, runId, callId, epoch, worker } = writer;
  const { question, claim, source, quote, confidence } = finding;
  const rows = await db.run<{ held: boolean; known: boolean; added: boolean; before: number }>(
    {
      name: 'add_finding',
      text: `with head as (select h.run_id from troupe.run_heads h where h.run_id = $3 and h.epoch = $5 and h.worker_id = $6 for share),
        had as (select count(*)::int as count, coalesce(bool_or(f.run_id = $3 and f.call_id = $4), false) as known
          from troupe.findings f where f.thread_id = $2),
        added as (
          insert into troupe.findings (project_id, thread_id, run_id, call_id, question, claim, source, quote, confidence)
            select $1, $2, head.run_id, $4, $7, $8, $9, $10, $11 from head, had where had.count < $12
            on conflict (thread_id, run_id, call_id) do nothing returning seq)
        select exists (select from head) as held, had.known, exists (select from added) as added, had.count as before from had`,
      values: [
        projectId,
        threadId,
        runId,
        callId,
        epoch,
        worker,
        question,
        claim,
        source,
        quote,
        confidence,
        most,
      ],
    },
    db.pool,
  );
  const { held, known, added, before } = rows[0]!;
  if (!held) return 'lost';
  if (known) return before;
  return added ? before + 1 : 'full';
}

/** In the order in which they were noted. */
export async function listFindings(db: Database, project: string, thread: string): Promise<Finding[]> {
  return db.run<Finding>(
    {
      name: 'list_findings',
      text: `select question, claim, source, quote, confidence from troupe.findings
        where project_id = $1 and thread_id = $2 order by seq`,
      values: [project, thread],
    },
    db.pool,
  );
}
