import { inOrderHeard } from '../../kernel/index.ts';
import type { RunRow, StoredMessage } from '../../store/index.ts';

/**
 * Where a user's message notes the run that answers it. The kernel writes a run's id into what the run itself says, and into
 * what is said to a run at work; a message that starts one is stored before there is a run to name.
 */
export const RUN_KEY = 'troupe:run';

/** The run that answers a message, or that said it. */
export function answeredBy(
  message: Pick<StoredMessage, 'runId'> & { metadata: Record<string, unknown> | null },
): string | null {
  const noted = message.metadata?.[RUN_KEY];
  return message.runId ?? (typeof noted === 'string' ? noted : null);
}

export interface Turn {
  run: string | null;
  messages: StoredMessage[];
  /** Whether its run has said anything. */
  answered: boolean;
}

/**
 * The conversation as one turn after the other, and the turn of the run. The log has messages in the order in which
 * they came: one that arrived while another was being answered stands before that answer, and a model that read it there
 * would answer both at once, or think that it had. Messages whose turn has yet to come are left out. Messages that steer a run
 * stand where its model first read them.
 */
export function turnsFor(
  { id: run, triggerSeq }: Pick<RunRow, 'id' | 'triggerSeq'>,
  transcript: readonly StoredMessage[],
): { earlier: Turn[]; own: Turn } {
  const turns = new Map<string, Turn>();
  for (const message of transcript) {
    // What a fork was asked is noted as asked of the run that it was made of.
    const answeredIn = message.seq === triggerSeq ? run : answeredBy(message);
    const key = answeredIn ?? message.id;
    const turn = turns.get(key) ?? { run: answeredIn, messages: [], answered: false };
    turn.messages.push(message);
    if (message.role !== 'user') turn.answered = true;
    turns.set(key, turn);
  }
  const all = [...turns.values()];
  const own = all.find((turn) => turn.run === run) ?? { run, messages: [], answered: false };
  const place = all.indexOf(own);
  const earlier = all.filter((turn, index) => turn !== own && (turn.answered || index < place || place < 0));
  const inOrder = (turn: Turn) => ({ ...turn, messages: inOrderHeard(turn.messages, turn.run) });
  return { earlier: earlier.map(inOrder), own: inOrder(own) };
}
