import { stopwatch } from '@troupe/testing';
import { expect, it } from 'vitest';
import { heightOf, WIDTH } from '../src/graph/boxes.ts';
import { layoutOf } from '../src/graph/layout.ts';
import type { GraphAgent } from '../src/graph/types.ts';

/** Routes that lead onwards and back, so that dagre makes one long chain of them. */
const tangle = (count: number): GraphAgent[] =>
  Array.from({ length: count }, (_, at) => ({
    key: `agent_${at}`,
    isDefault: at === 0,
    tools: at % 3 ? [] : ['look', 'pay', 'ask'],
    routes: [`Agent_${(at * 3 + 1) % count}`, `agent_${(at * 7 + 2) % count}`],
  }));

for (const direction of ['right', 'down'] as const) {
  for (const count of [24, 1_000]) {
    it(`lays out ${count} agents to the ${direction} at once, in a shape that fits a screen, none on another`, () => {
      const agents = tangle(count);
      const elapsed = stopwatch();
      const { places } = layoutOf(agents, {}, direction);
      expect(elapsed()).toBeLessThan(2_000);
      const boxes = agents
        .map((agent) => ({ ...places.get(agent.key)!, height: heightOf(agent) }))
        .toSorted((one, other) => one.x - other.x);
      expect(places.get('agent_0')).toMatchObject(direction === 'right' ? { x: 0 } : { y: 0 });
      const overlaps = boxes.flatMap((one, at) =>
        boxes
          .slice(at + 1)
          .filter(
            (other) =>
              other.x < one.x + WIDTH && other.y < one.y + one.height && one.y < other.y + other.height,
          ),
      );
      expect(overlaps).toEqual([]);
      const width = Math.max(...boxes.map(({ x }) => x + WIDTH));
      const height = Math.max(...boxes.map((box) => box.y + box.height));
      expect(Math.max(width / height, height / width)).toBeLessThan(5);
    });
  }
}

it('keeps the places that are given, and puts the others below', () => {
  const { places } = layoutOf(tangle(3), { agent_1: { x: 500, y: 70 } }, 'right');
  expect(places.get('agent_1')).toEqual({ x: 500, y: 70 });
  for (const key of ['agent_0', 'agent_2']) expect(places.get(key)!.y).toBeGreaterThan(70);
});
