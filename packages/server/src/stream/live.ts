import type { Delta, Json } from '@troupe/protocol';
import { deltaFrame } from './frame.ts';
import type { ElsewherePiece, Speaker, SpokenDelta } from './line.ts';

/** UTF-16 units in one piece to other processes: escaped at its worst, it still fits a notice of 8,000 bytes. */
const PIECE = 1_050;
/** A model that never stops is stopped elsewhere; here it must not fill the memory first. */
const LONGEST = 1_000_000;

/** A piece on its way to another process. `order` is greater for every new attempt of a step. */
export interface Piece {
  thread: string;
  run: string;
  step: number;
  epoch: number;
  order: number;
  type: Delta['type'];
  call?: string;
  name?: string;
  /** In another thread than its run's: the message that will take its place, and who speaks. */
  stream?: string;
  entity?: string;
  offset: number;
  text: string;
}

const deltaTypes = { text: 'message.delta', reasoning: 'step.generating', tool_input: 'tool.delta' } as const;

/** One text that a model is writing: its answer, its reasoning, or the arguments of a call. */
export class LiveText {
  readonly about: Omit<Piece, 'offset' | 'text'>;
  /** Written by this process. */
  readonly own: boolean;
  text = '';
  /** How much of it other processes were told. */
  told = 0;
  /** Which time of asking a model it comes from, where it is said in another thread than its run's. */
  thought = 0;
  #last: { from: number; to: number; bytes: Buffer } | null = null;

  constructor(about: Omit<Piece, 'offset' | 'text'>, own: boolean) {
    this.about = about;
    this.own = own;
  }

  /** Everything from `offset` on. Most readers are at the same place, so the last frame is kept. */
  frameFrom(offset: number): Buffer {
    const to = this.text.length;
    if (this.#last?.from !== offset || this.#last.to !== to) {
      const { type, run, step, call, name, stream, entity } = this.about;
      const bytes = deltaFrame({
        type,
        runId: run,
        step,
        offset,
        text: this.text.slice(offset),
        ...(call === undefined ? {} : { callId: call }),
        ...(name === undefined ? {} : { name }),
        ...(stream === undefined ? {} : { streamId: stream }),
        ...(entity === undefined ? {} : { entityId: entity }),
      });
      this.#last = { from: offset, to, bytes };
    }
    return this.#last.bytes;
  }

  *pieces(from: number): Generator<Piece> {
    // The generation is announced before it has a text.
    if (this.text === '') yield { ...this.about, offset: 0, text: '' };
    for (let offset = from; offset < this.text.length; offset += PIECE)
      yield { ...this.about, offset, text: this.text.slice(offset, offset + PIECE) };
  }
}

/** What is being written in all threads of a process, its own and what it heard of. Gone with the commit that stores it. */
export class Live {
  readonly #threads = new Map<string, Map<string, LiveText>>();
  /** By run, the other threads that it is about to speak in. */
  readonly #places = new Map<string, Set<string>>();
  #order = 0;

  of(thread: string): Iterable<LiveText> {
    return this.#threads.get(thread)?.values() ?? [];
  }

  /**
   * Applies a delta of a model of this process; returns the texts that changed. Every generation has a `step.generating`, which stays
   * empty if the model sends no reasoning.
   */
  write(run: Speaker, step: number, delta: SpokenDelta): LiveText[] {
    const { live: generating, isNew } = this.#own(run, step, 'step.generating');
    const { live } =
      delta.type === 'reasoning' ? { live: generating } : this.#own(run, step, deltaTypes[delta.type], delta);
    if (live.text.length < LONGEST) live.text += delta.text.slice(0, LONGEST);
    return isNew && live !== generating ? [generating, live] : [live];
  }

  /** The text of this type that a model of this process writes in the step, created if absent. */
  #own(
    run: Speaker,
    step: number,
    type: Delta['type'],
    delta?: SpokenDelta,
  ): { live: LiveText; isNew: boolean } {
    const call = delta?.type === 'tool_input' ? { call: delta.callId, name: delta.name } : {};
    const known = this.#find(run.threadId, run.id, step, type, call.call);
    if (known?.own && known.about.epoch === run.epoch) return { live: known, isNew: false };
    const about = { thread: run.threadId, run: run.id, step, epoch: run.epoch, order: ++this.#order, type };
    const live = new LiveText({ ...about, ...call }, true);
    this.#put(live);
    return { live, isNew: true };
  }

  /** A call of a run of this process is about to say something in another thread. A model that is asked again begins again. */
  writeElsewhere(run: Speaker, step: number, thought: number, piece: ElsewherePiece): LiveText {
    const type = piece.type === 'message' ? 'message.delta' : 'tool.delta';
    const known = this.#find(piece.thread, run.id, step, type, piece.callId);
    let live = known?.own && known.about.epoch === run.epoch && known.thought === thought ? known : null;
    if (!live) {
      const { thread, callId: call, name, streamId: stream, entityId } = piece;
      const about = { thread, run: run.id, step, epoch: run.epoch, order: ++this.#order, type } as const;
      live = new LiveText(
        { ...about, call, name, stream, ...(entityId === null ? {} : { entity: entityId }) },
        true,
      );
      live.thought = thought;
      this.#put(live);
      const places = this.#places.get(run.id) ?? new Set();
      this.#places.set(run.id, places.add(thread));
    }
    if (live.text.length < LONGEST) live.text += piece.text.slice(0, LONGEST);
    return live;
  }

  /** What calls of a run of this process were about to say elsewhere is said, or never will be. Null: all of them. */
  said(run: string, calls: readonly string[] | null): void {
    for (const thread of this.#places.get(run) ?? []) {
      this.#drop(
        thread,
        ({ own, about }) => own && about.run === run && (calls === null || calls.includes(about.call!)),
      );
    }
    if (calls === null) this.#places.delete(run);
  }

  /** The log of a thread has it, or says that it never will. */
  stored(thread: string, is: (about: LiveText['about']) => boolean): void {
    this.#drop(thread, ({ about }) => about.stream !== undefined && is(about));
  }

  /** A piece from elsewhere. False where one before it is missing. */
  hear({ offset, text, ...about }: Piece): boolean {
    const { thread, run, step, type, call, epoch, order } = about;
    const known = this.#find(thread, run, step, type, call);
    if (known) {
      const { about: had } = known;
      if (known.own || epoch < had.epoch || (epoch === had.epoch && order < had.order)) return true;
      if (epoch === had.epoch && order === had.order) {
        if (offset > known.text.length) return false;
        known.text += text.slice(known.text.length - offset);
        return true;
      }
    }
    if (offset > 0) return false;
    const live = new LiveText(about, false);
    live.text = text;
    this.#put(live);
    return true;
  }

  /** Forgets what a run was saying, up to a step. */
  end(thread: string, run: string, step = Number.POSITIVE_INFINITY): void {
    this.#drop(thread, ({ about }) => about.run === run && about.step <= step);
  }

  /** Nobody here reads the thread any more: what others write there need not be kept. */
  leave(thread: string): void {
    this.#drop(thread, ({ own }) => !own);
  }

  #drop(thread: string, is: (live: LiveText) => boolean): void {
    const texts = this.#threads.get(thread);
    if (!texts) return;
    for (const [key, live] of texts) if (is(live)) texts.delete(key);
    if (texts.size === 0) this.#threads.delete(thread);
  }

  #put(live: LiveText): void {
    const { thread, run, step, type, call } = live.about;
    const texts = this.#threads.get(thread) ?? new Map<string, LiveText>();
    texts.set(keyOf(run, step, type, call), live);
    this.#threads.set(thread, texts);
  }

  #find(thread: string, run: string, step: number, type: string, call: string | undefined) {
    return this.#threads.get(thread)?.get(keyOf(run, step, type, call)) ?? null;
  }
}

function keyOf(run: string, step: number, type: string, call: string | undefined): string {
  return `${run} ${step} ${type} ${call ?? ''}`;
}

/** What another process sends may be of another version. */
export function isPiece(value: Json): value is Json & Piece {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { thread, run, step, epoch, order, type, offset, text } = value;
  return (
    [thread, run, type, text].every((field) => typeof field === 'string') &&
    [step, epoch, order, offset].every((field) => Number.isSafeInteger(field))
  );
}
