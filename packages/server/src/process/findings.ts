import { TroupeError } from '../base/index.ts';
import { addFinding, type Database, listFindings } from '../store/index.ts';
import type { Findings } from '../tools/index.ts';

/** Of one session: as many as a model can read again. */
const MOST = 300;

export function findingsIn(db: Database): Findings {
  return {
    async note(context, finding) {
      const noted = await addFinding(db, context, finding, MOST);
      if (noted === 'lost') throw new TroupeError('run_lost', 'The run is no longer with this worker.');
      if (noted === 'full') {
        throw new TroupeError(
          'too_many_findings',
          `The session has ${MOST} findings, and takes no more. Answer from what there is.`,
        );
      }
      return noted;
    },
    list: (project, thread) => listFindings(db, project, thread),
  };
}
