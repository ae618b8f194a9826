import type { Database } from '../database.ts';
import { toJsonText } from '../json.ts';

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

/** How many the thread then has; `lost` where the worker no longer has the run, `full` where there were `most` already. */
export async function addFinding(
  db: Database,
  writer: FindingWriter,
  finding: Finding,
  most: number,
): Promise<number | 'lost' | 'full'> {
  const { projectId, threadId, runId, callId, epoch, worker } = writer;
  const rows = await db.run<{
    answer: { ok: true; count: number } | { ok: false; code: 'run_lost' | 'full' };
  }>(
    {
      name: 'add_finding',
      text: 'select troupe.add_finding($1, $2, $3, $4, $5::jsonb, $6, $7, $8) as answer',
      values: [projectId, threadId, runId, callId, toJsonText(finding), most, epoch, worker],
    },
    db.pool,
  );
  const { answer } = rows[0]!;
  if (answer.ok) return answer.count;
  return answer.code === 'full' ? 'full' : 'lost';
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
