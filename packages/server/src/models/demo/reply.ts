import type { Json } from '@troupe/protocol';
import { about } from './about.ts';
import { clock } from './clock.ts';
import { courtesy, help } from './courtesy.ts';
import { delegation } from './delegation.ts';
import { lookup } from './lookup.ts';
import { afterCalls } from './outcomes.ts';
import { question } from './question.ts';
import { requestedCalls } from './requested-calls.ts';
import { silence } from './silence.ts';
import type { Situation } from './situation.ts';
import { sums } from './sums/index.ts';
import { taskAnswer, taskNews } from './tasks.ts';
import { toldName } from './told-name.ts';
import { turn } from './turn.ts';

export interface PlannedCall {
  name: string;
  arguments: { [key: string]: Json };
}

/** `say` goes to whoever listens, by the tool for it where there is one; `note` is text and nothing else. */
export type Reply = { say: string } | { call: PlannedCall[] } | { note: string };

/** Undefined = not my case; the next rule is asked. */
export type Rule = (situation: Situation) => Reply | undefined;

/** In this order; what is asked for by name comes before what is guessed. */
const RULES: Rule[] = [
  taskNews,
  afterCalls,
  silence,
  requestedCalls,
  delegation,
  question,
  clock,
  sums,
  lookup,
  taskAnswer,
  toldName,
  turn,
  about,
  courtesy,
];

export function reply(situation: Situation): Reply {
  for (const rule of RULES) {
    const found = rule(situation);
    if (found) return found;
  }
  return help(situation);
}
