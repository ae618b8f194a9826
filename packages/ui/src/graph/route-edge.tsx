import {
  BaseEdge,
  type Edge,
  EdgeLabelRenderer,
  type EdgeProps,
  type InternalNode,
  useInternalNode,
} from '@xyflow/react';
import { memo } from 'react';
import { classes } from '../basic/classes.ts';
import { WarnIcon } from '../basic/icons.tsx';

interface RouteEdgeData extends Record<string, unknown> {
  problems: readonly string[];
  light: 'active' | 'visited' | null;
  /** There is one back: both bend, so that they can be told apart. */
  isTwoWay: boolean;
  /** Points to go by, as long as both boxes are where they were laid out. */
  way: readonly Point[] | null;
  ends: readonly Point[];
}
export type RouteEdge = Edge<RouteEdgeData, 'route'>;

/** From edge to edge of the boxes, whichever way they lie. */
export const RouteLine = memo(function RouteLine({
  id,
  source,
  target,
  data,
  selected,
  markerEnd,
}: EdgeProps<RouteEdge>) {
  const [from, to] = [useInternalNode(source), useInternalNode(target)];
  if (!from || !to) return null;
  const line =
    data?.way && isAt(from, data.ends[0]) && isAt(to, data.ends[1])
      ? lineAlong(from, to, data.way)
      : lineBetween(from, to, data?.isTwoWay ? 22 : 0);
  const problems = data?.problems ?? [];
  return (
    <>
      <BaseEdge
        id={id}
        path={line.path}
        {...(markerEnd ? { markerEnd } : {})}
        interactionWidth={16}
        className={classes(
          'troupe-route',
          data?.light && `troupe-route-${data.light}`,
          selected && 'troupe-route-selected',
          problems.length > 0 && 'troupe-route-bad',
        )}
      />
      {problems.length > 0 && (
        <EdgeLabelRenderer>
          <span
            className="troupe-route-problem"
            style={{ transform: `translate(-50%, -50%) translate(${line.middle.x}px, ${line.middle.y}px)` }}
            title={problems.join('\n')}
          >
            <WarnIcon />
            <span className="troupe-hidden">{problems.join(' ')}</span>
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

interface Point {
  x: number;
  y: number;
}
interface Box extends Point {
  width: number;
  height: number;
}

function boxOf(node: InternalNode): Box {
  const { x, y } = node.internals.positionAbsolute;
  return { x, y, width: node.measured.width ?? 224, height: node.measured.height ?? 80 };
}

function lineBetween(
  source: InternalNode,
  target: InternalNode,
  bend: number,
): { path: string; middle: Point } {
  const [from, to] = [boxOf(source), boxOf(target)];
  const [begin, end] = [centreOf(from), centreOf(to)];
  const length = Math.hypot(end.x - begin.x, end.y - begin.y) || 1;
  const aside = { x: (-(end.y - begin.y) / length) * bend, y: ((end.x - begin.x) / length) * bend };
  const control = { x: (begin.x + end.x) / 2 + aside.x * 2, y: (begin.y + end.y) / 2 + aside.y * 2 };
  const start = borderOf(from, control, 0);
  const stop = borderOf(to, control, 4);
  const path = `M ${start.x} ${start.y} Q ${control.x} ${control.y} ${stop.x} ${stop.y}`;
  const middle = {
    x: (start.x + 2 * control.x + stop.x) / 4,
    y: (start.y + 2 * control.y + stop.y) / 4,
  };
  return { path, middle };
}

function isAt(node: InternalNode, place: Point | undefined): boolean {
  const { x, y } = node.internals.positionAbsolute;
  return place !== undefined && Math.abs(x - place.x) < 1 && Math.abs(y - place.y) < 1;
}

/** Bends at each point, without touching it. */
function lineAlong(
  source: InternalNode,
  target: InternalNode,
  way: readonly Point[],
): { path: string; middle: Point } {
  const start = borderOf(boxOf(source), way[0]!, 0);
  const stop = borderOf(boxOf(target), way.at(-1)!, 4);
  const bends = way.map((point, index) => {
    const next = way[index + 1];
    const end = next ? { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 } : stop;
    return `Q ${point.x} ${point.y} ${end.x} ${end.y}`;
  });
  return { path: `M ${start.x} ${start.y} ${bends.join(' ')}`, middle: way[Math.floor(way.length / 2)]! };
}

const centreOf = ({ x, y, width, height }: Box): Point => ({ x: x + width / 2, y: y + height / 2 });

/** Where the line from the middle of a box to a point leaves the box. */
function borderOf(box: Box, towards: Point, gap: number): Point {
  const centre = centreOf(box);
  const [dx, dy] = [towards.x - centre.x, towards.y - centre.y];
  if (dx === 0 && dy === 0) return centre;
  const scale = Math.min(
    dx === 0 ? Number.POSITIVE_INFINITY : (box.width / 2 + gap) / Math.abs(dx),
    dy === 0 ? Number.POSITIVE_INFINITY : (box.height / 2 + gap) / Math.abs(dy),
  );
  return { x: centre.x + dx * Math.min(scale, 1), y: centre.y + dy * Math.min(scale, 1) };
}
