import type { Delta } from '@troupe/protocol';

/** What a model is writing right now: the answer of one step of a run. Its messages take its place. */
export interface LiveStep {
  runId: string;
  step: number;
  text: string;
  /** What it thinks before it answers. */
  reasoning: string;
  /** Calls whose arguments are being written, as far as they are: mostly no JSON yet. */
  calls: readonly { id: string; tool: string | null; arguments: string }[];
}

/** With one more piece; the same where the piece says nothing. */
export function withDelta(live: readonly LiveStep[], delta: Delta): readonly LiveStep[] {
  const { runId, step } = delta;
  const known = live.find((one) => one.runId === runId && one.step === step);
  const now = written(known ?? { runId, step, text: '', reasoning: '', calls: [] }, delta);
  if (!now || now === known) return live;
  return known ? live.map((one) => (one === known ? now : one)) : [...live, now];
}

function written(one: LiveStep, { type, offset, text, callId, name }: Delta): LiveStep | null {
  if (type === 'tool.delta') {
    const id = callId ?? '';
    const known = one.calls.find((call) => call.id === id);
    const now = joined(known?.arguments ?? '', offset, text);
    if (now === null) return null;
    const call = { id, tool: name ?? known?.tool ?? null, arguments: now };
    const calls = known ? one.calls.map((other) => (other === known ? call : other)) : [...one.calls, call];
    return { ...one, calls };
  }
  const field = type === 'message.delta' ? 'text' : 'reasoning';
  const now = joined(one[field], offset, text);
  return now === null ? null : { ...one, [field]: now };
}

/** A piece whose beginning was missed says nothing; what is written will be told again from its beginning. */
function joined(known: string, offset: number, text: string): string | null {
  return offset > known.length ? null : known.slice(0, offset) + text;
}
