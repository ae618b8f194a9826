import { heightOf, WIDTH } from './boxes.ts';
import type { GraphAgent, Layout, Position } from './types.ts';

const APART = 96;
const BESIDE = 32;
/** As wide as high, a little wider: the shape of a screen. */
const SHAPE = 1.2;

/**
 * A place for each of many agents, in time that grows with the routes only: as many hand-overs from the beginning as it takes to
 * reach it, beside those that hand over to it. A layer that is too long for the screen goes on in a second row.
 */
export function inLayers(agents: readonly GraphAgent[], direction: 'right' | 'down'): Layout {
  const tallest = Math.max(...agents.map(heightOf));
  // Along the way of the routes, and across it.
  const [step, beside] =
    direction === 'right' ? [WIDTH + APART, tallest + BESIDE] : [tallest + APART, WIDTH + BESIDE];
  const shape = direction === 'right' ? SHAPE : 1 / SHAPE;
  const most = Math.max(4, Math.ceil(Math.sqrt((agents.length * step) / beside / shape)));
  const places = new Map<string, Position>();
  let along = 0;
  for (const layer of layersOf(agents)) {
    for (let from = 0; from < layer.length; from += most) {
      const row = layer.slice(from, from + most);
      const indent = ((most - row.length) / 2) * beside;
      for (const [at, { key }] of row.entries()) {
        const across = Math.round(indent + at * beside);
        places.set(key, direction === 'right' ? { x: along, y: across } : { x: across, y: along });
      }
      along += step;
    }
  }
  return { places, ways: new Map() };
}

/** Each layer in the order of those that lead to it. What cannot be reached stands in the first. */
function layersOf(agents: readonly GraphAgent[]): GraphAgent[][] {
  const byName = new Map(agents.map((agent) => [agent.key.toLowerCase(), agent]));
  const seen = new Set<GraphAgent>();
  const layers: GraphAgent[][] = [];
  for (const first of beginningFirst(agents)) {
    let layer = seen.has(first) ? [] : [first];
    seen.add(first);
    for (let depth = 0; layer.length > 0; depth++) {
      layers[depth] = [...(layers[depth] ?? []), ...layer];
      const next: GraphAgent[] = [];
      for (const agent of layer) {
        for (const route of agent.routes ?? []) {
          const to = byName.get(route.toLowerCase());
          if (!to || seen.has(to)) continue;
          seen.add(to);
          next.push(to);
        }
      }
      layer = next;
    }
  }
  return layers;
}

/** Where runs begin comes first, so that cycles are cut behind it. */
export const beginningFirst = (agents: readonly GraphAgent[]) =>
  [...agents].sort((a, b) => Number(b.isDefault ?? false) - Number(a.isDefault ?? false));
