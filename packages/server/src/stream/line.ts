import type { Json } from '@troupe/protocol';

// What the stream needs of the kernel. It is the kernel's own interface, seen from here.

export interface Hints {
  threads?: string[];
  watch?: string[];
  whole?: string[];
  live?: Json[];
}

/** A run, as far as what it says is concerned. */
export interface Speaker {
  id: string;
  threadId: string;
  epoch: number;
}

export type SpokenDelta =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'tool_input'; callId: string; name: string; text: string };

/** What a call is about to say in another thread than its run's. */
export interface ElsewherePiece {
  thread: string;
  type: 'message' | 'tool';
  streamId: string;
  callId: string;
  name: string;
  text: string;
  entityId: string | null;
}

export interface Line {
  setOnlooker(
    onlooker: {
      onTouched(thread: string): void;
      onDelta(run: Speaker, step: number, delta: SpokenDelta): void;
      onLive(run: Speaker, step: number, thought: number, piece: ElsewherePiece): void;
      onSaid(run: Speaker, calls: string[] | null): void;
      onSilent(run: Speaker): void;
      onHints(hints: Hints): void;
    } | null,
  ): void;
  hint(hints: Hints): void;
}
