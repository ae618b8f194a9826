import { z } from 'zod';
import { messageOf, TroupeError } from '../../base/index.ts';
import { jsonSpanEnd } from '../json-span.ts';
import { type Turn, turn } from './turn.ts';

const MARK = /(?<![\w])script:\s*(?=\[)/;
const turns = z.array(turn);

/**
 * The script inside a text: `script:` and a JSON array of turns; undefined where there is none.
 * It may stand behind something else, since a door may put a sender's label before the words.
 */
export function carriedScript(text: string): Turn[] | undefined {
  const mark = MARK.exec(text);
  if (!mark) return undefined;
  const start = mark.index + mark[0].length;
  const end = jsonSpanEnd(text, start);
  if (end === undefined) throw invalid('its JSON array never closes');
  let value: unknown;
  try {
    value = JSON.parse(text.slice(start, end));
  } catch (error) {
    throw invalid(messageOf(error));
  }
  const parsed = turns.safeParse(value);
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error));
  return parsed.data;
}

function invalid(why: string): TroupeError {
  return new TroupeError('invalid_script', `The script in the conversation cannot be read: ${why}.`, {
    hint: 'Write script: followed by a JSON array of turns; the fields of a turn are in models/scripted/turn.ts.',
  });
}
