import { newId } from '@troupe/sdk';
import type { CopyFact } from '../checker/evidence.ts';
import { said } from '../doubles/brain.ts';
import type { Definitions } from './definitions.ts';
import { asked } from './ended.ts';
import { pause, RefusedError, type Requester, refusalOf } from './requester.ts';

const COLLECTIONS = ['sessions', 'messages', 'runs', 'tasks', 'spaces', 'memberships'] as const;
type Collection = (typeof COLLECTIONS)[number];
type Document = { id: string; _deleted: boolean } & Record<string, unknown>;

/** A copy in the hands of a user: pulls by checkpoint, follows the stream, and pushes sessions and messages. */
export class Copy {
  readonly user: string;
  readonly #requester: Requester;
  readonly #documents = new Map<Collection, Map<string, Document>>();
  readonly #checkpoints = new Map<Collection, string>();
  readonly #wake = new Set<Collection>(COLLECTIONS);
  #closed = false;
  readonly #loop: Promise<void>;

  constructor(requester: Requester, user: string) {
    this.user = user;
    this.#requester = requester;
    for (const collection of COLLECTIONS) this.#documents.set(collection, new Map());
    this.#loop = this.#run();
  }

  /** Writes offline: a session and its messages, each pushed until the server has taken or refused it. */
  async write({ talkers }: Definitions): Promise<void> {
    const { random } = this.#requester;
    while (!this.#requester.stopped) {
      const chatId = newId();
      const agentId = random.pick(talkers);
      const session = {
        id: chatId,
        agentId,
        policy: 'queue',
        metadata: { label: chatId },
        createdAt: Date.now(),
      };
      if (!(await this.#push('session', 'sessions', session, { label: chatId }))) return;
      for (let n = random.int(1, 3); n > 0; n--) {
        const label = newId();
        const content = said(label, random.pick(['', 'idem', 'once']));
        const message = { id: newId(), chatId, role: 'user', content, createdAt: Date.now() };
        await this.#push('message', 'messages', message, { label, thread: chatId });
      }
      await asked(async () => {
        const runs = [...this.#documents.get('runs')!.values()].filter((run) => run.sessionId === chatId);
        const open = runs.some((run) => !['completed', 'failed', 'canceled'].includes(String(run.status)));
        return this.#requester.stopped || (runs.length > 0 && !open);
      });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#loop;
  }

  /** What the copy has after a last pull, beside what a new copy gets. */
  async compare(): Promise<CopyFact[]> {
    await this.close();
    const facts: CopyFact[] = [];
    for (const collection of COLLECTIONS) {
      const mine = this.#documents.get(collection)!;
      while (!(await this.#pull(collection))) await pause(300);
      const fresh = new Map<string, Document>();
      const checkpoint = { value: undefined as string | undefined };
      while (!(await this.#page(collection, fresh, checkpoint))) await pause(300);
      facts.push({ user: this.user, collection, client: canonical(mine), server: canonical(fresh) });
    }
    return facts;
  }

  async #run(): Promise<void> {
    const { client } = this.#requester;
    const end = client.watch([...COLLECTIONS], (collection) => this.#wake.add(collection as Collection));
    while (!this.#closed) {
      for (const collection of [...this.#wake]) {
        this.#wake.delete(collection);
        if (!(await this.#pull(collection))) this.#wake.add(collection);
      }
      await pause(200);
      // A client that hears nothing looks by itself from time to time.
      if (this.#requester.random.chance(0.02))
        for (const collection of COLLECTIONS) this.#wake.add(collection);
    }
    end();
  }

  /** True when there is no more for now; false if a request failed on the way. */
  async #pull(collection: Collection): Promise<boolean> {
    const checkpoint = { value: this.#checkpoints.get(collection) };
    const isDone = await this.#page(collection, this.#documents.get(collection)!, checkpoint);
    if (checkpoint.value !== undefined) this.#checkpoints.set(collection, checkpoint.value);
    return isDone;
  }

  async #page(
    collection: Collection,
    into: Map<string, Document>,
    checkpoint: { value: string | undefined },
  ): Promise<boolean> {
    const limit = 50;
    for (;;) {
      const query = { limit, user: this.user, ...(checkpoint.value ? { checkpoint: checkpoint.value } : {}) };
      try {
        const page = await this.#requester.client.sync.pull({ params: { collection }, query });
        for (const document of page.documents as Document[]) {
          if (document._deleted) into.delete(document.id);
          else into.set(document.id, document);
        }
        checkpoint.value = page.checkpoint;
        if (page.documents.length < limit) return true;
      } catch (error) {
        // Nobody of this name has done anything yet: an empty copy.
        return refusalOf(error) === 'entity_not_found';
      }
    }
  }

  #push(
    made: 'session' | 'message',
    collection: Collection,
    document: { id: string } & Record<string, unknown>,
    given: { label: string; thread?: string },
  ) {
    const body = { rows: [{ newDocumentState: { ...document, _deleted: false } }] };
    return this.#requester.make(
      { door: 'sync', made, ...given },
      async (options) => {
        const request = { params: { collection }, query: { user: this.user }, body };
        const answer = await this.#requester.client.sync.push(request as never, options);
        const [refused] = (answer as { refused: { code: string }[] }).refused;
        if (refused) throw new RefusedError(refused.code);
        return answer;
      },
      () => ({ id: document.id }),
    );
  }
}

function canonical(documents: Map<string, Document>): Map<string, string> {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value)
        .toSorted(([one], [two]) => (one < two ? -1 : 1))
        .map(([name, inner]) => [name, sorted(inner)]),
    );
  };
  return new Map([...documents].map(([id, document]) => [id, JSON.stringify(sorted(document))]));
}
