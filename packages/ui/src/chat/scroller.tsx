import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { ArrowDownIcon } from '../basic/icons.tsx';

interface ScrollerProps {
  label: string;
  /** Of the first and the last thing in it, to know what came before and after. */
  firstKey: string | undefined;
  lastKey: string | undefined;
  /** The last one is by whoever looks at it: it is always scrolled to. */
  isLastOwn?: boolean | undefined;
  hasOlder: boolean;
  isLoadingOlder: boolean;
  onLoadOlder: () => void;
  /** What has this as its `data-key` is brought into sight and given the focus, as soon as it is there; once for each object. */
  goTo?: { key: string } | null | undefined;
  children: ReactNode;
}

const NEAR_END = 48;
const NEAR_TOP = 320;

/** Stays at the end while one is there, and where one is while older ones come. */
export function Scroller(props: ScrollerProps) {
  const { label, firstKey, lastKey, isLastOwn, hasOlder, isLoadingOlder, onLoadOlder, goTo, children } =
    props;
  const area = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  /** Where it was scrolled to when it was last looked at. */
  const place = useRef(0);
  /** What is first in sight, and how far below the top: the thing to keep in place. */
  const anchor = useRef<{ element: Element; top: number } | null>(null);
  const [hasNew, setNew] = useState(false);

  const toEnd = useCallback(() => {
    sticks.current = true;
    setNew(false);
    const box = area.current;
    if (!box) return;
    box.scrollTop = box.scrollHeight;
    place.current = box.scrollTop;
  }, []);
  /** Whether to stay at the end. Asked before anything is moved: who has just gone up, and the browser tells of that a frame later, is left there. */
  const isAtEnd = useCallback(() => {
    const box = area.current;
    if (!box) return sticks.current;
    // Only who goes up leaves the end: it may have grown since one was sent there.
    const isNear = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END;
    if (isNear) sticks.current = true;
    else if (box.scrollTop < place.current) sticks.current = false;
    place.current = box.scrollTop;
    return sticks.current;
  }, []);
  const look = useCallback(() => {
    const box = area.current;
    if (!box) return;
    if (isAtEnd()) setNew(false);
    const top = box.getBoundingClientRect().top;
    const element = [...(inner.current?.children ?? [])].find(
      (one) => one.getBoundingClientRect().bottom > top,
    );
    anchor.current = element ? { element, top: element.getBoundingClientRect().top - top } : null;
  }, [isAtEnd]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: when other things are the first or the last
  useLayoutEffect(() => {
    const box = area.current;
    if (!box) return;
    if (isAtEnd()) toEnd();
    else if (anchor.current?.element.isConnected) {
      const top = anchor.current.element.getBoundingClientRect().top - box.getBoundingClientRect().top;
      box.scrollTop += top - anchor.current.top;
    }
    look();
  }, [firstKey]);

  const last = useRef(lastKey);
  useLayoutEffect(() => {
    if (lastKey === last.current) return;
    const isFirst = last.current === undefined;
    last.current = lastKey;
    if (isLastOwn || isFirst || isAtEnd()) toEnd();
    else setNew(true);
  }, [lastKey, isLastOwn, toEnd, isAtEnd]);

  const gone = useRef<ScrollerProps['goTo']>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is looked for may come with others
  useLayoutEffect(() => {
    const box = area.current;
    if (!box || !goTo || gone.current === goTo) return;
    const found = inner.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(goTo.key)}"]`);
    if (!found) return;
    gone.current = goTo;
    sticks.current = false;
    const { top, height } = found.getBoundingClientRect();
    // Of one that is higher than the window, the beginning.
    const above = Math.max((box.clientHeight - height) / 2, 0);
    box.scrollTop += top - box.getBoundingClientRect().top - above;
    place.current = box.scrollTop;
    found.focus({ preventScroll: true });
    look();
  }, [goTo, firstKey, lastKey]);

  // Text that is being written, and pictures that arrive, make it longer without drawing this again.
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (isAtEnd()) toEnd();
    });
    if (inner.current) observer.observe(inner.current);
    if (area.current) observer.observe(area.current);
    return () => observer.disconnect();
  }, [isAtEnd, toEnd]);

  const loadOlder = () => {
    const box = area.current;
    if (box && hasOlder && !isLoadingOlder && box.scrollTop < NEAR_TOP) onLoadOlder();
  };
  // Where all of it fits, there is nothing to scroll, and older ones would never be asked for.
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever something came or may come
  useEffect(() => {
    const box = area.current;
    if (box && box.scrollHeight <= box.clientHeight) loadOlder();
  }, [firstKey, hasOlder, isLoadingOlder]);

  return (
    <div className="troupe-scroller">
      <div
        ref={area}
        className="troupe-scroller-area"
        role="log"
        aria-live="off"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={() => {
          look();
          loadOlder();
        }}
      >
        <div ref={inner} className="troupe-scroller-inner">
          {children}
        </div>
      </div>
      {isLoadingOlder && <p className="troupe-scroller-older">Loading older messages…</p>}
      {hasNew && (
        <button type="button" className="troupe-pill" onClick={toEnd}>
          <ArrowDownIcon />
          <span>New messages</span>
        </button>
      )}
    </div>
  );
}
