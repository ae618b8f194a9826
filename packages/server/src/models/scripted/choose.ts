import { TroupeError } from '../../base/index.ts';
import type { ModelRequest } from '../../kernel/ports.ts';
import { carriedScript } from './carried.ts';
import type { Script, Turn } from './turn.ts';

export interface Registered {
  named: ReadonlyMap<string, Script>;
  /** For every name that has none of its own. */
  fallback: Script | undefined;
}

export interface Choice {
  script: Script;
  /** Which turn of a list, from 0. */
  index: number;
}

/**
 * In this order: carried by the last user message, carried by the model's name (`script:[…]`), registered under
 * the model's name (`scripted:` before it is ignored), the fallback, carried by an earlier user message.
 *
 * A carried list answers its message: its place is the number of assistant messages since, so a message that comes
 * in between and carries none does not start it again. Any other list answers the run: its place is the step, which
 * counts from 1 and is the same after a crash, a cut history or a fork.
 */
export function chooseScript(request: ModelRequest, modelName: string, registered: Registered): Choice {
  const { messages } = request;
  const last = messages.findLastIndex((message) => message.role === 'user');
  const carried = carriedAt(request, last);
  if (carried) return { script: carried, index: answersAfter(request, last) };

  const name = modelName.replace(/^scripted:/, '');
  const script = carriedScript(modelName) ?? registered.named.get(name) ?? registered.fallback;
  if (script) return { script, index: request.step - 1 };

  for (let at = last - 1; at >= 0; at--) {
    const earlier = carriedAt(request, at);
    if (earlier) return { script: earlier, index: answersAfter(request, at) };
  }
  throw new TroupeError(
    'unknown_script',
    `No script is registered as "${name}" and the conversation carries none.`,
    {
      hint: `Registered here: ${[...registered.named.keys()].join(', ') || 'none'}.`,
    },
  );
}

export function turnAt(turns: readonly Turn[], index: number): Turn {
  const turn = turns[index];
  if (turn) return turn;
  throw new TroupeError(
    'script_ended',
    `The script has ${turns.length} turns and was asked for turn ${index + 1}.`,
    {
      hint: 'Add a turn that answers without calls, or look why the loop went on.',
    },
  );
}

function carriedAt(request: ModelRequest, at: number): Turn[] | undefined {
  const message = request.messages[at];
  return message?.role === 'user' ? carriedScript(message.text) : undefined;
}

function answersAfter(request: ModelRequest, at: number): number {
  let answers = 0;
  for (let i = at + 1; i < request.messages.length; i++) {
    if (request.messages[i]!.role === 'assistant') answers++;
  }
  return answers;
}
