import type { CelInput } from '@bufbuild/cel';
import type { ChangeEvent, Json, JsonObject } from '@troupe/protocol';
import { inProcessorTime, inTime, messageOf, OutOfTime } from '../base/index.ts';
import { cel, environment } from './cel.ts';
import { checkExpression } from './cel-check.ts';
import { fieldsOf } from './collections.ts';

/** What a condition is asked about. */
export interface Happened {
  type: ChangeEvent;
  /** In milliseconds since 1970. */
  timestamp: number;
  /** Of what is deleted: what it was. */
  document: JsonObject;
  before: JsonObject | null;
}

export type Verdict = { holds: boolean; error?: undefined } | { holds: false; error: string };

export type Condition = (happened: Happened) => Verdict;

/** Only what loops, or looks through texts, can take long. */
const LONGEST_MS = 50;
const LONGEST_COMPILING_MS = 200;

export class ConditionInvalid extends Error {}

/** Compiled and checked; throws `ConditionInvalid` with all that is wrong and where. */
export function conditionOf(text: string | null, collections: readonly string[]): Condition {
  if (text === null) return () => ({ holds: true });
  const { parsed, problems, loops, evaluate } = compiled(text, collections);
  if (problems.length > 0) {
    const positions = parsed.sourceInfo?.positions ?? {};
    const told = problems.map(
      ({ expression, message }) => `${placeOf(text, positions[String(expression)] ?? 0)}: ${message}`,
    );
    throw new ConditionInvalid([...new Set(told)].join('; '));
  }
  return (happened) => {
    try {
      // Within: a document may be nested deeper than anything that goes through it can follow.
      const given = { event: eventOf(happened) } as Record<string, CelInput>;
      const came = loops ? inTime(LONGEST_MS, () => evaluate(given)) : evaluate(given);
      if (cel().isCelError(came)) return { holds: false, error: came.message };
      if (typeof came !== 'boolean') return { holds: false, error: 'it came to neither true nor false' };
      return { holds: came };
    } catch (error) {
      return { holds: false, error: error instanceof OutOfTime ? error.message : messageOf(error) };
    }
  };
}

/** A text of a few thousand letters can be made to take half a second: everybody else in the process would wait. */
function compiled(text: string, collections: readonly string[]) {
  // Loaded before the clock starts, which would otherwise interrupt the load.
  const { parse, plan } = cel();
  const known = environment();
  try {
    return inProcessorTime(LONGEST_COMPILING_MS, () => {
      const parsed = parse(text);
      return {
        parsed,
        ...checkExpression(parsed.expr, fieldsOf(collections)),
        evaluate: plan(known, parsed),
      };
    });
  } catch (error) {
    if (error instanceof RangeError) throw new ConditionInvalid('it is nested too deep to be read');
    if (error instanceof OutOfTime) throw new ConditionInvalid('it takes too long to be read');
    const at = /<input>:(\d+):(\d+): ([\s\S]*)/.exec(messageOf(error));
    throw new ConditionInvalid(
      at ? `line ${at[1]}, column ${at[2]}: ${at[3]}` : `it cannot be read: ${messageOf(error)}`,
    );
  }
}

function placeOf(text: string, offset: number): string {
  const lines = text.slice(0, offset).split('\n');
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}

function eventOf({ type, timestamp, document, before }: Happened) {
  return {
    type,
    timestamp: BigInt(timestamp),
    document: documentOf(document),
    before: before && documentOf(before),
  };
}

/** Fields are found in both ways that people write them: `document.role` and `document.data.role`. */
function documentOf(document: JsonObject) {
  const fields = numbers(document) as Record<string, unknown>;
  return { ...fields, data: fields };
}

/** Whole numbers are whole: a number of JavaScript is a double, to which no integer can be added. */
function numbers(value: Json): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(numbers);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, numbers(item)]));
}

/**
 * Whether a rule fires. An update has to make the condition true: one that leaves a task `success` that was `success` before is no news. A
 * rule can ask for every update instead.
 */
export function fires(
  condition: Condition,
  { edge, conditional }: { edge: boolean; conditional: boolean },
  happened: Happened,
): Verdict {
  const now = condition(happened);
  if (!now.holds || happened.type !== 'update' || !edge || !conditional || happened.before === null)
    return now;
  const then = condition({ ...happened, document: happened.before });
  return { holds: !then.holds };
}
