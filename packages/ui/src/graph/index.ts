/**
 * ui/graph: networks as graphs. Apart from the rest, since what draws them is large: load it when it is needed.
 * Start reading: network-graph.tsx.
 */
export { dragData } from './drag.ts';
export { layoutOf } from './layout.ts';
export { NetworkGraph } from './network-graph.tsx';
export type {
  Dropped,
  GraphAgent,
  GraphPath,
  GraphSelection,
  Layout,
  NetworkGraphProps,
  Position,
  Route,
} from './types.ts';
