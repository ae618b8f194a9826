import type { JsonObject } from '@troupe/protocol';
import { isId } from '../../base/index.ts';
import type { ModelCall, RunView } from '../../kernel/index.ts';
import type { SayingCall } from '../../store/index.ts';

// Where a run speaks, from what its own thread tells: the same rule as `troupe.space_of_call` in store/functions/spaces.

/** Where a call takes effect after an `enter_space` whose argument is not an id. */
export const NOWHERE = '00000000-0000-0000-0000-000000000000';

type Run = Pick<RunView['run'], 'triggerType' | 'trigger'>;

/** The space of the message that began it. */
export function triggerSpaceOf({ triggerType, trigger }: Run): string | null {
  return triggerType === 'space_message' ? String(trigger.spaceId) : null;
}

/** The space that was entered last, by a call that went well; else the one that it began in. */
export function activeSpaceOf({ run, transcript }: Pick<RunView, 'run' | 'transcript'>): string | null {
  const entered = new Set<string>();
  for (const { role, callId, content } of transcript) {
    const went = role === 'tool_result' && ((content as JsonObject).result as JsonObject | null);
    if (went && went.success === true && callId !== null) entered.add(callId);
  }
  const last = transcript.findLast(
    ({ role, callId, content }) =>
      role === 'tool_call' && entered.has(callId!) && (content as JsonObject).name === 'enter_space',
  );
  return last ? spaceIn((last.content as JsonObject).arguments) : triggerSpaceOf(run);
}

/** Where a call takes effect that stands behind these in one answer: what was meant for one space is not said in another. */
export function spaceOfCall(
  view: Pick<RunView, 'run' | 'transcript'>,
  before: readonly Pick<ModelCall, 'name' | 'arguments'>[],
): string | null {
  const last = before.findLast(({ name }) => name === 'enter_space');
  return last ? spaceIn(last.arguments) : activeSpaceOf(view);
}

/** Spaces that an answer enters and then shows something in. */
export function placesOf(
  view: Pick<RunView, 'run' | 'transcript' | 'snapshot'>,
  calls: readonly Pick<ModelCall, 'name' | 'arguments'>[],
): string[] {
  if (!calls.some(({ name }) => name === 'enter_space')) return [];
  const places = calls.flatMap(({ name }, index) => {
    const isShown =
      name === 'send_message' || view.snapshot.tools.some((tool) => tool.name === name && tool.shown);
    return isShown ? (spaceOfCall(view, calls.slice(0, index)) ?? []) : [];
  });
  return [...new Set(places)];
}

/** Where each call of a run takes effect, from its ledger: the last space entered before it, even if that failed in the same answer. */
export function spacesOfCalls(
  runSpace: string | null,
  calls: readonly Pick<SayingCall, 'id' | 'step' | 'tool' | 'args' | 'wentWell'>[],
): Map<string, string | null> {
  const spaces = new Map<string, string | null>();
  let entered = runSpace;
  let here: { step: number; space: string } | undefined;
  for (const { id, step, tool, args, wentWell } of calls) {
    spaces.set(id, here?.step === step ? here.space : entered);
    if (tool !== 'enter_space') continue;
    here = { step, space: spaceIn(args) ?? NOWHERE };
    if (wentWell) entered = here.space;
  }
  return spaces;
}

function spaceIn(args: unknown): string | null {
  const { spaceId } = (args ?? {}) as { spaceId?: unknown };
  // A model writes anything, such as a name.
  return typeof spaceId === 'string' && isId(spaceId.toLowerCase()) ? spaceId.toLowerCase() : null;
}
