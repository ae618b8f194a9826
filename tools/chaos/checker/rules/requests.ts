import type { Rule } from '../evidence.ts';

/** One key, one id, one row: however often a request was sent. */
export const keysAreStable: Rule = ({ requests, rows }) => {
  const byLabel = Map.groupBy(rows, ({ made, label }) => `${made} ${label}`);
  return requests.flatMap(({ made, label, ids, outcome, code, tries }) => {
    const found = [...new Set((byLabel.get(`${made} ${label}`) ?? []).map(({ id }) => id))];
    const named = [...new Set(ids)];
    const subject = label;
    if (named.length > 1)
      return [{ subject, message: `${made}: one key was answered with ${named.join(', ')}` }];
    if (found.length > 1)
      return [
        { subject, message: `${made}: one key made ${found.length} (${found.join(', ')}) in ${tries} tries` },
      ];
    if (outcome === 'accepted' && code !== null)
      return [{ subject, message: `${made}: accepted, then refused with ${code} under the same key` }];
    if (outcome === 'accepted' && found.length === 0)
      return [{ subject, message: `${made}: accepted as ${named[0]}, and it does not exist` }];
    if (outcome === 'accepted' && found[0] !== named[0])
      return [{ subject, message: `${made}: answered with ${named[0]}, stored as ${found[0]}` }];
    if (outcome === 'refused' && found.length > 0)
      return [{ subject, message: `${made}: refused with ${code}, and stored as ${found[0]}` }];
    return [];
  });
};

/** A request that is sent again until there is an answer gets one. */
export const requestsAreAnswered: Rule = ({ requests }) =>
  requests.flatMap(({ outcome, made, label, tries }) =>
    outcome === null ? [{ subject: label, message: `${made}: no answer after ${tries} tries` }] : [],
  );
