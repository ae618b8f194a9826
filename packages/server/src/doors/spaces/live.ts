import type { SnapshotTool } from '@troupe/protocol';
import type { LivePiece, ModelDelta, RunView } from '../../kernel/index.ts';
import { spaceOfCall } from './active-space.ts';
import { messageIdOf } from './acts.ts';
import { StringField } from './string-field.ts';

interface Writing {
  callId: string;
  name: string;
  /** All that came of its arguments. */
  text: string;
  /** Where it is seen while it is written; null: nowhere. */
  space: string | null;
  /** What of a message is to be read; null where the arguments are shown as they are. */
  said: StringField | null;
}

/**
 * What the calls of an answer are about to say, while their arguments are still being written: the text of a message, and the
 * arguments of tools that show them. A call speaks where it will take effect, if its agent is a member there.
 */
export function liveIn(
  view: Pick<RunView, 'run' | 'transcript' | 'snapshot'>,
  isMember: (space: string) => boolean,
): (delta: ModelDelta) => LivePiece[] {
  const calls: Writing[] = [];
  return (delta) => {
    if (delta.type !== 'tool_input') return [];
    let call = calls.find(({ callId }) => callId === delta.callId);
    if (!call) {
      call = begun(view, calls, delta, isMember);
      calls.push(call);
    }
    // Where it is kept for: an enter_space is read by those behind it.
    if (call.name === 'enter_space') call.text += delta.text;
    if (call.space === null) return [];
    const text = call.said ? call.said.push(delta.text) : delta.text;
    if (text === '') return [];
    const { callId, name } = call;
    const { id, entityId } = view.run;
    const type = call.said ? ('message' as const) : ('tool' as const);
    return [{ thread: call.space, type, streamId: messageIdOf(id, callId), callId, name, text, entityId }];
  };
}

function begun(
  view: Pick<RunView, 'run' | 'transcript' | 'snapshot'>,
  before: readonly Writing[],
  { callId, name }: ModelDelta & { type: 'tool_input' },
  isMember: (space: string) => boolean,
): Writing {
  const speaks = name === 'send_message';
  const shows = speaks || showsInput(view.snapshot.tools.find((tool) => tool.name === name));
  const earlier = before.map((one) => ({ name: one.name, arguments: read(one.text) as never }));
  const space = shows ? spaceOfCall(view, earlier) : null;
  return {
    callId,
    name,
    text: '',
    space: space !== null && isMember(space) ? space : null,
    said: speaks ? new StringField('text') : null,
  };
}

function showsInput(tool: SnapshotTool | undefined): boolean {
  return tool?.shown?.when === 'always' && tool.shown.input;
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
