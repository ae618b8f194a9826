import { useEffect, useMemo } from 'react';
import type { ReadMarkerResult, SpaceMessage, SpaceResult } from './results.ts';
import { type UseSpaceOptions, useSpace } from './use-space.ts';

/** How far one has read in a space. */
export function useReadMarker(spaceId: string | null, options: UseSpaceOptions = {}): ReadMarkerResult {
  const space = useSpace(spaceId, options);
  const { lastSeenMessageId, markRead } = space;
  const unread = useMemo(() => unreadOf(space), [space]);
  const watcher = useMemo(() => new Watcher(markRead), [markRead]);
  // Who is nobody, or no member, has no marker that could be moved.
  const isMember = space.members.some(({ entityId }) => entityId === space.entityId);
  useEffect(() => (isMember ? watcher.start() : undefined), [watcher, isMember]);
  return {
    unread: unread?.length ?? null,
    firstUnreadId: unread?.[0]?.id ?? null,
    lastSeenMessageId,
    markRead,
    readRef: watcher.refOf,
  };
}

/** What came after what one has seen; of nothing seen, what came since one joined. As far as it is loaded. */
function unreadOf({ messages, members, entityId, lastSeenMessageId, isLoading }: SpaceResult) {
  const own = members.find((member) => member.entityId === entityId);
  if (isLoading || !own) return null;
  const stored = messages.filter(({ sending }) => !sending);
  const seen = stored.findIndex(({ id }) => id === lastSeenMessageId);
  const isNew = ({ createdAt }: SpaceMessage) => createdAt > own.joinedAt;
  return (seen < 0 ? stored.filter(isNew) : stored.slice(seen + 1)) as readonly SpaceMessage[];
}

/** Marks what is seen: at least half of it, in a page that is looked at. */
class Watcher {
  readonly #markRead: (messageId: string) => Promise<void>;
  readonly #ids = new Map<Element, string>();
  readonly #refs = new Map<string, (element: Element | null) => (() => void) | undefined>();
  readonly #visible = new Set<Element>();
  /** Tried once each: what is refused is unread again, comes into view again, and would be tried without end. */
  readonly #failed = new Set<string>();
  #observer: IntersectionObserver | null = null;

  constructor(markRead: (messageId: string) => Promise<void>) {
    this.#markRead = markRead;
  }

  start(): () => void {
    const observer = new IntersectionObserver((entries) => this.#look(entries), { threshold: 0.5 });
    this.#observer = observer;
    for (const element of this.#ids.keys()) observer.observe(element);
    const onVisible = () => this.#mark(this.#visible);
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      document.removeEventListener('visibilitychange', onVisible);
      observer.disconnect();
      this.#observer = null;
      this.#visible.clear();
    };
  }

  /** The same for the same message, so that React does not take it away and put it back with every drawing. */
  refOf = (messageId: string): ((element: Element | null) => (() => void) | undefined) => {
    const known = this.#refs.get(messageId);
    if (known) return known;
    const ref = (element: Element | null) => {
      if (!element) return undefined;
      this.#ids.set(element, messageId);
      this.#observer?.observe(element);
      return () => {
        this.#observer?.unobserve(element);
        this.#ids.delete(element);
        this.#visible.delete(element);
        this.#refs.delete(messageId);
      };
    };
    this.#refs.set(messageId, ref);
    return ref;
  };

  #look(entries: IntersectionObserverEntry[]): void {
    const seen = new Set<Element>();
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) seen.add(target);
      if (isIntersecting) this.#visible.add(target);
      else this.#visible.delete(target);
    }
    this.#mark(seen);
  }

  #mark(elements: ReadonlySet<Element>): void {
    if (document.visibilityState !== 'visible') return;
    // Older ones than the marker are passed over; what fails is made up for by the next one.
    for (const element of elements) {
      const id = this.#ids.get(element);
      if (id && !this.#failed.has(id)) this.#markRead(id).catch(() => this.#failed.add(id));
    }
  }
}
