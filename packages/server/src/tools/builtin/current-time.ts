import type { Json } from '@troupe/protocol';
import { TroupeError } from '../../base/index.ts';
import type { ToolExecute } from '../../kernel/ports.ts';

export function currentTime(now: () => Date): ToolExecute {
  return (args) => {
    const moment = now();
    const timezone = zoneIn(args);
    return { human: human(moment, timezone), iso: iso(moment, timezone), timezone };
  };
}

function zoneIn(args: Json): string {
  const given = args !== null && typeof args === 'object' && !Array.isArray(args) ? args.timezone : undefined;
  if (given === undefined || given === null || given === '') return 'UTC';
  try {
    return new Intl.DateTimeFormat('en', { timeZone: String(given) }).resolvedOptions().timeZone;
  } catch {
    throw new TroupeError(
      'unknown_timezone',
      `There is no time zone ${JSON.stringify(given)}. Use a name of the IANA list, such as Europe/Berlin.`,
    );
  }
}

function human(moment: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    dateStyle: 'full',
    timeStyle: 'long',
  }).format(moment);
}

/** With the zone's own offset, as it is at that moment. */
function iso(moment: Date, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'longOffset',
  });
  const part = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]));
  const offset = part.timeZoneName?.replace('GMT', '') || '+00:00';
  return `${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}:${part.second}${offset}`;
}
