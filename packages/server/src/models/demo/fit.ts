import type { ModelCall, ModelRequest } from '../../kernel/ports.ts';
import { callId } from '../call-ids.ts';
import { callUnits, unitsOf } from '../tokens.ts';
import { clip } from './clip.ts';
import type { PlannedCall, Reply } from './reply.ts';

interface Fitted {
  text: string;
  calls: ModelCall[];
  /** Something did not fit into `maxOutputTokens`. */
  cut: boolean;
}

/** The reply as text and calls within `maxOutputTokens`; `speak` makes the call where text alone reaches nobody. */
export function fitReply(
  reply: Reply,
  request: ModelRequest,
  speak: ((text: string) => PlannedCall) | undefined,
): Fitted {
  const room = unitsOf(request.maxOutputTokens);
  if ('note' in reply) return fitText(reply.note, room);
  if ('call' in reply) return fitCalls(reply.call, request, room);
  return speak ? fitSpeech(reply.say, request, room, speak) : fitText(reply.say, room);
}

function fitText(text: string, room: number): Fitted {
  const clipped = clip(text, room);
  return { text: clipped, calls: [], cut: clipped !== text };
}

/** A call is given whole or not at all. */
function fitCalls(planned: PlannedCall[], request: ModelRequest, room: number): Fitted {
  const calls: ModelCall[] = [];
  let left = room;
  for (const call of planned) {
    left -= callUnits(call);
    if (left < 0) return { text: '', calls, cut: true };
    calls.push({ id: callId(request, calls.length), ...call });
  }
  return { text: '', calls, cut: false };
}

function fitSpeech(
  text: string,
  request: ModelRequest,
  room: number,
  speak: (text: string) => PlannedCall,
): Fitted {
  // In JSON a unit of text takes one place or more, so leaving out as many as are over is always enough.
  const over = callUnits(speak(text)) - room;
  if (over <= 0) return fitCalls([speak(text)], request, room);
  const clipped = clip(text, text.length - over);
  if (clipped === '') return { text: '', calls: [], cut: true };
  return { ...fitCalls([speak(clipped)], request, room), cut: true };
}
