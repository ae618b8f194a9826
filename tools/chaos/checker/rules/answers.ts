import type { Rule } from '../evidence.ts';

/**
 * Every accepted message of a session is answered exactly once, or its run failed or was canceled visibly. A message whose run did
 * not complete may be answered by a later run of the session, once.
 */
export const answersOnce: Rule = ({ requests, runs, answers }) => {
  const byMessage = Map.groupBy(answers, ({ thread, label }) => `${thread} ${label}`);
  return requests.flatMap(({ made, outcome, label, thread, runs: ids }) => {
    if (made !== 'message' || outcome !== 'accepted') return [];
    const subject = label;
    const [run] = (ids ?? []).map((id) => runs.get(id));
    if (!run) return [{ subject, message: 'accepted, and there is no run that answers it' }];
    const given = byMessage.get(`${thread} ${label}`) ?? [];
    const places = given.map(({ run: by, sequence }) => `run ${by} at ${sequence}`).join(', ');
    if (given.length > 1 && !run.retried)
      return [{ subject, message: `answered ${given.length} times: ${places}` }];
    if (given.length === 0 && run.status === 'completed')
      return [{ subject, message: `run ${run.id} is completed and does not answer it` }];
    if (given.length === 0 && run.status === 'failed' && run.error === null)
      return [{ subject, message: `run ${run.id} failed without an error` }];
    return [];
  });
};

/** Every run that a message of a space started says its answer once, unless the run failed or was canceled. */
export const spaceAnswersOnce: Rule = ({ requests, runs, answers }) => {
  const byRun = Map.groupBy(answers, ({ run }) => run);
  return requests.flatMap(({ made, outcome, label, thread, runs: ids }) => {
    if (made !== 'space_message' || outcome !== 'accepted') return [];
    return (ids ?? []).flatMap((id) => {
      const run = runs.get(id);
      const subject = label;
      if (!run) return [{ subject, message: `run ${id} was started and does not exist` }];
      const given = (byRun.get(id) ?? []).filter(
        (answer) => answer.thread === thread && answer.label === label,
      );
      if (given.length > 1) return [{ subject, message: `run ${id} answered ${given.length} times` }];
      if (given.length === 0 && run.status === 'completed')
        return [{ subject, message: `run ${id} is completed and said nothing` }];
      return [];
    });
  });
};

/** An invocation or a run of a service that was accepted has a run, which ended; an invocation with the answer to its own input. */
export const startedRunsEnd: Rule = ({ requests, runs }) =>
  requests.flatMap(({ made, outcome, label, runs: ids }) => {
    if (outcome !== 'accepted' || (made !== 'invocation' && made !== 'service_run')) return [];
    return (ids ?? []).flatMap((id) => {
      const run = runs.get(id);
      if (!run) return [{ subject: label, message: `run ${id} was accepted and does not exist` }];
      if (made === 'invocation' && run.status === 'completed' && !run.outcome.includes(`[a:${label}]`))
        return [{ subject: label, message: `run ${id} responded with ${run.outcome}` }];
      if (run.status === 'completed' || run.status === 'canceled' || (run.status === 'failed' && run.error))
        return [];
      return [{ subject: label, message: `run ${id} is ${run.status}` }];
    });
  });

/** A plan makes one run, a batch one for every row; each of them ends. */
export const makersMakeAll: Rule = ({ requests, runs, makers }) => {
  const byLabel = new Map(makers.map((maker) => [`${maker.kind} ${maker.label}`, maker]));
  return requests.flatMap(({ made, outcome, label, size = 1 }) => {
    if (outcome !== 'accepted' || (made !== 'plan' && made !== 'batch')) return [];
    const ids = byLabel.get(`${made} ${label}`)?.runs ?? [];
    if (ids.length !== size) return [{ subject: label, message: `${made}: ${ids.length} runs of ${size}` }];
    const open = ids.filter(
      (id) => !['completed', 'failed', 'canceled'].includes(runs.get(id)?.status ?? 'gone'),
    );
    return open.map((id) => ({
      subject: label,
      message: `${made}: run ${id} is ${runs.get(id)?.status ?? 'gone'}`,
    }));
  });
};
