/** A conversation with planted facts: the message of each turn, and the questions afterwards. */

export interface Fact {
  /** Planted in this turn, from 0. */
  turn: number;
  statement: string;
  question: string;
  value: string;
}

export interface Plan {
  turns: string[];
  facts: Fact[];
}

const NOUNS = [
  'boathouse',
  'ledger',
  'greenhouse',
  'archive',
  'observatory',
  'workshop',
  'harbour',
  'orchard',
];
const TRAITS = ['code', 'opening hour', 'keeper', 'colour', 'inventory number', 'phone number'];
const SMALL_TALK = [
  'The weather changed twice since this morning. I am glad that the windows are closed.',
  'I walked along the river for an hour. There were more herons than last year.',
  'The meeting ran late again. Nobody had prepared the second half of the agenda.',
  'I am rewriting the introduction. It should be shorter and say less about the past.',
  'We tried the new bakery. The rye bread is good, the rest is not.',
];

/** The same for the same arguments. A fact is never the first sentence of its turn: a digest of first sentences would lose it. */
export function createPlan(turnCount: number, factCount: number): Plan {
  const step = turnCount / factCount;
  const facts = Array.from({ length: factCount }, (_, index): Fact => {
    const turn = Math.floor(index * step);
    const name = `${NOUNS[index % NOUNS.length]} ${index + 1}`;
    const trait = TRAITS[index % TRAITS.length]!;
    const value = `${((index + 1) * 7_919) % 90_000}-${index + 1}x`;
    return {
      turn,
      statement: `By the way, the ${trait} of the ${name} is ${value}.`,
      question: `What is the ${trait} of the ${name}? Answer with the value only.`,
      value,
    };
  });
  const planted = new Map(facts.map((fact) => [fact.turn, fact]));
  const turns = Array.from({ length: turnCount }, (_, turn) => {
    const talk = SMALL_TALK[turn % SMALL_TALK.length]!;
    const fact = planted.get(turn);
    return fact ? `${talk} ${fact.statement}` : talk;
  });
  return { turns, facts };
}
