import type { Rule } from '../evidence.ts';

/** Every reader got every event once, in order, up to the end of the log, and the same types as the log has. */
export const readersAreExact: Rule = ({ readers, threads }) =>
  readers.flatMap(({ thread, events, connections }, n) => {
    const subject = `${thread} reader ${n}`;
    const log = threads.get(thread);
    if (!log) return [{ subject, message: 'the thread does not exist' }];
    const wrong = events.findIndex(({ sequence }, at) => sequence !== at + 1);
    if (wrong >= 0) {
      const around = events.slice(Math.max(0, wrong - 3), wrong + 3).map(({ sequence }) => sequence);
      return [
        { subject, message: `sequence ${around.join(', ')} at ${wrong + 1} (${connections} connections)` },
      ];
    }
    if (events.length !== log.lastEvent)
      return [
        { subject, message: `ends at ${events.length} of ${log.lastEvent} (${connections} connections)` },
      ];
    const other = events.find(({ type }, at) => type !== log.types[at]);
    if (other)
      return [
        {
          subject,
          message: `event ${other.sequence} is ${other.type}, the log has ${log.types[other.sequence - 1]}`,
        },
      ];
    return [];
  });
