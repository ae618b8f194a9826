import { type KeyboardEvent, memo, useEffect, useId, useMemo, useRef, useState } from 'react';
import { classes } from '../basic/classes.ts';
import { lookOf, StatusBadge, StatusMark } from '../basic/status-badge.tsx';
import { durationText, Time, useNow } from '../basic/time.tsx';
import { moved, ticksOf, type View, zoomed } from './scale.ts';

export type SpanKind = 'queue' | 'model' | 'tool' | 'wait' | 'attempt' | 'takeover' | 'task';

export interface TimelineSpan {
  id: string;
  kind: SpanKind;
  name: string;
  startedAt: string | number;
  /** Null: it has not ended. */
  endedAt: string | number | null;
  /** Of a run, a call or a task; `completed` where nothing is said. */
  status: string;
  /** How deep it is nested. Default: 0. */
  depth?: number | undefined;
  step?: number | undefined;
  /** More to show where it is looked at, such as tokens and costs. */
  facts?: readonly (readonly [name: string, value: string])[] | undefined;
}

export interface RunTimelineProps {
  spans: readonly TimelineSpan[];
  selectedId?: string | null | undefined;
  onSelect?: ((span: TimelineSpan) => void) | undefined;
  /** Of the rows, in pixels, at most. Default: 360. */
  height?: number | undefined;
  label?: string | undefined;
}

const ROW = 28;
const SPARE = 8;
const PAGE = 10;

/**
 * A waterfall: one row for each span, in the order given. Only the rows in sight are in the page, so thousands cost what dozens do.
 * Up and down move, left and right shift, plus and minus zoom, 0 shows all, Enter selects.
 */
export const RunTimeline = memo(function RunTimeline(props: RunTimelineProps) {
  const { spans, selectedId, onSelect, height = 360, label = 'Timeline' } = props;
  const isRunning = useMemo(() => spans.some(({ endedAt }) => endedAt === null), [spans]);
  const now = useNow(isRunning, 1_000);
  const times = useMemo(() => spans.map((span) => timesOf(span)), [spans]);
  const whole = useMemo(() => wholeOf(times, now), [times, now]);
  const [zoom, setZoom] = useState<View | null>(null);
  const view = zoom ?? whole;
  const [top, setTop] = useState(0);
  const [current, setCurrent] = useState(0);
  const [hovered, setHovered] = useState<number | null>(null);
  const [isFocused, setFocused] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();

  const at = Math.min(current, Math.max(0, spans.length - 1));
  const looked = hovered ?? (isFocused ? at : null);
  const picked = spans.findIndex((span) => span.id === selectedId);
  const detail = spans[looked ?? picked] ?? null;

  const first = Math.max(0, Math.floor(top / ROW) - SPARE);
  const rows = spans.slice(first, Math.ceil((top + height) / ROW) + SPARE);
  const ticks = ticksOf(view, whole.from, 6);
  const length = view.to - view.from || 1;
  const share = (moment: number) => ((moment - view.from) / length) * 100;

  const go = (index: number) => {
    const next = Math.min(Math.max(index, 0), spans.length - 1);
    setCurrent(next);
    const area = list.current;
    if (!area) return;
    if (next * ROW < area.scrollTop) area.scrollTop = next * ROW;
    if ((next + 1) * ROW > area.scrollTop + area.clientHeight)
      area.scrollTop = (next + 1) * ROW - area.clientHeight;
  };
  const middle = () => {
    const span = times[at];
    if (!span) return (view.from + view.to) / 2;
    const centre = (span.from + (span.to ?? now)) / 2;
    return centre > view.from && centre < view.to ? centre : (view.from + view.to) / 2;
  };
  const scale = (factor: number, around: number) => {
    const next = zoomed(view, whole, factor, around);
    setZoom(next.to - next.from >= whole.to - whole.from ? null : next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const does = new Map<string, () => void>([
      ['ArrowDown', () => go(at + 1)],
      ['ArrowUp', () => go(at - 1)],
      ['PageDown', () => go(at + PAGE)],
      ['PageUp', () => go(at - PAGE)],
      ['Home', () => go(0)],
      ['End', () => go(spans.length - 1)],
      ['ArrowRight', () => zoom && setZoom(moved(zoom, whole, length / 10))],
      ['ArrowLeft', () => zoom && setZoom(moved(zoom, whole, -length / 10))],
      ['+', () => scale(0.5, middle())],
      ['=', () => scale(0.5, middle())],
      ['-', () => scale(2, middle())],
      ['0', () => setZoom(null)],
      ['Enter', () => spans[at] && onSelect?.(spans[at])],
    ]);
    const act = does.get(event.key);
    if (!act) return;
    event.preventDefault();
    act();
  };

  // React's own wheel listener cannot keep the page from zooming along.
  const wheel = useRef<(event: WheelEvent) => void>(() => {});
  wheel.current = (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = list.current!.getBoundingClientRect();
    const begin = list.current!.querySelector('.troupe-span-track')?.getBoundingClientRect() ?? box;
    const around = view.from + ((event.clientX - begin.left) / (begin.width || 1)) * length;
    scale(event.deltaY > 0 ? 1.25 : 0.8, Math.min(Math.max(around, view.from), view.to));
  };
  useEffect(() => {
    const area = list.current;
    const listen = (event: WheelEvent) => wheel.current(event);
    area?.addEventListener('wheel', listen, { passive: false });
    return () => area?.removeEventListener('wheel', listen);
  }, []);

  if (spans.length === 0) return <p className="troupe-empty">Nothing has happened yet.</p>;
  return (
    <div className="troupe-timeline">
      <div className="troupe-timeline-bar">
        <span className="troupe-timeline-sum">
          {spans.length.toLocaleString('en')} {spans.length === 1 ? 'span' : 'spans'},{' '}
          {durationText(whole.to - whole.from)}
        </span>
        <span className="troupe-timeline-buttons">
          <button
            type="button"
            className="troupe-button troupe-button-quiet"
            onClick={() => scale(2, middle())}
            disabled={!zoom}
            aria-label="Zoom out"
          >
            −
          </button>
          <button
            type="button"
            className="troupe-button troupe-button-quiet"
            onClick={() => scale(0.5, middle())}
            aria-label="Zoom in"
          >
            +
          </button>
          <button
            type="button"
            className="troupe-button troupe-button-quiet"
            onClick={() => setZoom(null)}
            disabled={!zoom}
          >
            Fit
          </button>
        </span>
      </div>
      <div className="troupe-timeline-axis" aria-hidden="true">
        <span className="troupe-span-name" />
        <span className="troupe-span-track">
          {ticks
            .filter(({ at: moment }) => share(moment) < 93)
            .map((tick) => (
              <span key={tick.at} className="troupe-tick" style={{ left: `${share(tick.at)}%` }}>
                {tick.label}
              </span>
            ))}
        </span>
      </div>
      <div
        ref={list}
        className="troupe-timeline-rows"
        style={{ maxHeight: height }}
        role="listbox"
        aria-label={label}
        aria-activedescendant={`${id}-${at}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onPointerLeave={() => setHovered(null)}
      >
        <div className="troupe-timeline-all" style={{ height: spans.length * ROW }} role="presentation">
          {rows.map((span, offset) => {
            const index = first + offset;
            const { from, to } = times[index]!;
            const end = to ?? now;
            const left = Math.max(0, Math.min(100, share(from)));
            const right = Math.max(0, Math.min(100, share(end)));
            const isSeen = end >= view.from && from <= view.to;
            const { tone, shape, word } = lookOf(span.status);
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the list that holds it has the focus and the keys
              <div
                key={span.id}
                id={`${id}-${index}`}
                className={classes(
                  'troupe-span',
                  span.id === selectedId && 'troupe-span-selected',
                  isFocused && index === at && 'troupe-span-current',
                )}
                style={{ top: index * ROW }}
                role="option"
                tabIndex={-1}
                aria-selected={span.id === selectedId}
                aria-setsize={spans.length}
                aria-posinset={index + 1}
                onPointerEnter={() => setHovered(index)}
                onClick={() => {
                  setCurrent(index);
                  onSelect?.(span);
                }}
              >
                <span className="troupe-span-name" style={{ paddingInlineStart: 8 + (span.depth ?? 0) * 12 }}>
                  <span className={`troupe-span-mark troupe-tone-${tone}`}>
                    <StatusMark shape={shape} />
                  </span>
                  <span className="troupe-span-text">{span.name}</span>
                  <span className="troupe-hidden">
                    {kinds[span.kind]}, {word}, after {durationText(from - whole.from)}, took
                  </span>
                </span>
                <span className="troupe-span-track">
                  {isSeen && (
                    <span
                      className={classes(
                        'troupe-bar',
                        `troupe-bar-${span.kind}`,
                        to === null && 'troupe-bar-running',
                      )}
                      data-tone={tone}
                      style={{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }}
                    />
                  )}
                  {isSeen && (
                    <span
                      className="troupe-bar-time"
                      style={
                        right < 82
                          ? { left: `${right}%` }
                          : left < 12
                            ? { right: 4 }
                            : { right: `${100 - left}%` }
                      }
                      data-inside={right >= 82 && left < 12}
                    >
                      {durationText(end - from)}
                    </span>
                  )}
                </span>
              </div>
            );
          })}
        </div>
      </div>
      <SpanDetail span={detail} from={whole.from} now={now} />
    </div>
  );
});

function timesOf(span: TimelineSpan): { from: number; to: number | null } {
  const from = new Date(span.startedAt).getTime();
  return { from, to: span.endedAt === null ? null : Math.max(from, new Date(span.endedAt).getTime()) };
}

function wholeOf(times: readonly { from: number; to: number | null }[], now: number): View {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const time of times) {
    from = Math.min(from, time.from);
    to = Math.max(to, time.to ?? Math.max(now, time.from));
  }
  if (!Number.isFinite(from)) return { from: 0, to: 1 };
  return { from, to: Math.max(to, from + 1) };
}

const kinds: Record<SpanKind, string> = {
  queue: 'In the queue',
  model: 'Model call',
  tool: 'Tool call',
  wait: 'Waiting',
  attempt: 'Failed attempt',
  takeover: 'Taken over',
  task: 'Task',
};

function SpanDetail({ span, from, now }: { span: TimelineSpan | null; from: number; now: number }) {
  if (!span) return <p className="troupe-span-detail troupe-span-hint">Point at a row to see more of it.</p>;
  const time = timesOf(span);
  return (
    <dl className="troupe-span-detail">
      <div>
        <dt>{kinds[span.kind]}</dt>
        <dd className="troupe-span-detail-name">{span.name}</dd>
      </div>
      <div>
        <dt>Status</dt>
        <dd>
          <StatusBadge status={span.status} />
        </dd>
      </div>
      <div>
        <dt>Took</dt>
        <dd className="troupe-number">{durationText((time.to ?? now) - time.from)}</dd>
      </div>
      <div>
        <dt>After</dt>
        <dd className="troupe-number">{durationText(time.from - from)}</dd>
      </div>
      {span.step !== undefined && (
        <div>
          <dt>Step</dt>
          <dd className="troupe-number">{span.step}</dd>
        </div>
      )}
      <div>
        <dt>Began</dt>
        <dd>
          <Time value={span.startedAt} format="exact" />
        </dd>
      </div>
      {span.facts?.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="troupe-number">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
