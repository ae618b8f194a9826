import type { MeantCall, ModelCall, RunView } from '../../kernel/index.ts';
import { spaceOfCall } from './active-space.ts';
import { messageIdOf } from './acts.ts';

const NO_SPACE = {
  code: 'no_active_space',
  message: 'There is no active space where somebody could answer this. Call enter_space first.',
};

/** The calls of an answer, each with the space that sees it where its tool is visible. */
export function withShown(
  view: Pick<RunView, 'run' | 'transcript' | 'snapshot'>,
  calls: readonly ModelCall[],
): MeantCall[] {
  return calls.map((call, index) => {
    const tool = view.snapshot.tools.find(({ name }) => name === call.name);
    if (!tool?.shown) return call;
    const spaceId = spaceOfCall(view, calls.slice(0, index));
    // Nobody would ever see that an answer is wanted.
    if (spaceId === null) return tool.waitsFor === 'client' ? { ...call, refuse: NO_SPACE } : call;
    const { when, input, output, customUI } = tool.shown;
    const messageId = messageIdOf(view.run.id, call.id);
    return {
      ...call,
      shown: { spaceId, messageId, when, input, output, ...(customUI === undefined ? {} : { customUI }) },
    };
  });
}
