import type { Troupe } from '@troupe/sdk';
import type { Plan } from './facts.ts';

export interface Played {
  sessionId: string;
  /** One for each fact, in the order in which they were planted. */
  recalled: boolean[];
  answers: string[];
  compactions: number;
}

/** Says everything in the plan to a new agent with this model, then asks for every fact. */
export async function play(
  troupe: Troupe,
  { turns, facts }: Plan,
  modelId: string | null,
  onTurn: (done: number) => void = () => {},
): Promise<Played> {
  const agent = await troupe.agents.create({
    body: {
      name: `Recall benchmark ${Date.now()}`,
      systemPrompt:
        'You keep the user company. Acknowledge in a few words. Answer questions from what the user told you.',
      defaultModelId: modelId,
    },
  });
  const session = await troupe.open(agent.id);
  for (const [index, text] of turns.entries()) {
    await session.sendAndWait(text);
    onTurn(index + 1);
  }
  const answers: string[] = [];
  for (const { question } of facts) {
    answers.push((await session.sendAndWait(question)).text);
    onTurn(turns.length + answers.length);
  }
  return {
    sessionId: session.id,
    answers,
    recalled: facts.map(({ value }, index) => answers[index]!.includes(value)),
    compactions: await countSummaries(session),
  };
}

async function countSummaries(session: Awaited<ReturnType<Troupe['open']>>): Promise<number> {
  let count = 0;
  for (let after = 0; ; ) {
    const { data } = await session.messages({ after, limit: 1_000 });
    count += data.filter(({ role, metadata }) => role === 'system' && metadata.summary !== undefined).length;
    if (data.length < 1_000) return count;
    after = data.at(-1)!.sequence;
  }
}
