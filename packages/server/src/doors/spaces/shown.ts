import type { MeantCall, ModelCall, RunView } from '../../kernel/index.ts';
import { activeSpaceOf, spaceOfCall } from './active-space.ts';
import { messageIdOf } from './acts.ts';

const NO_SPACE = {
  code: 'no_active_space',
  message: 'This is shown where it is called, and there is no active space. Call enter_space first.',
};

const NOT_A_MEMBER = {
  code: 'not_a_member',
  message:
    'This is shown where it is called, and you are not known to be a member there. Enter one of YOUR SPACES first.',
};

/** The calls of an answer, each with the space that sees it where its tool is visible. */
export function withShown(
  view: Pick<RunView, 'run' | 'transcript' | 'snapshot'>,
  calls: readonly ModelCall[],
  isMember: (space: string) => boolean,
): MeantCall[] {
  return calls.map((call, index) => {
    const tool = view.snapshot.tools.find(({ name }) => name === call.name);
    if (!tool?.shown) return call;
    const spaceId = spaceOfCall(view, calls.slice(0, index));
    // What is to be seen must not happen where nobody sees it.
    if (spaceId === null) return { ...call, refuse: NO_SPACE };
    // One that the run is in already it could enter; of one that it enters with this answer only the prompt knows.
    if (spaceId !== activeSpaceOf(view) && !isMember(spaceId)) return { ...call, refuse: NOT_A_MEMBER };
    const { when, input, output, customUI } = tool.shown;
    const messageId = messageIdOf(view.run.id, call.id);
    return {
      ...call,
      shown: { spaceId, messageId, when, input, output, ...(customUI === undefined ? {} : { customUI }) },
    };
  });
}
