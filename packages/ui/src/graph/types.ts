import type { Api } from '@troupe/react';

/** An agent of a network; `Api.NetworkAgent` and those of a definition are such. */
export interface GraphAgent {
  key: string;
  displayName?: string | null | undefined;
  description?: string | undefined;
  isDefault?: boolean | undefined;
  allowRespond?: boolean | undefined;
  allowTaskGroup?: boolean | undefined;
  tools?: readonly string[] | undefined;
  /** Keys of the agents that it may hand over to. */
  routes?: readonly string[] | undefined;
}

export type Route = readonly [from: string, to: string];
export interface Position {
  x: number;
  y: number;
}

/** A part of the graph that is lit. */
export interface GraphPath {
  agents?: readonly string[] | undefined;
  routes?: readonly Route[] | undefined;
}

export type GraphSelection = { agent: string } | { route: Route };

/** What is dragged onto the graph: `dragData` puts it in. */
export interface Dropped {
  kind: 'agent' | 'tool';
  /** The key, the id or the name: whatever was put in. */
  name: string;
  position: Position;
  /** The agent that it was dropped on. */
  onAgent: string | null;
}

export interface NetworkGraphProps {
  agents: readonly GraphAgent[];
  /** What is wrong, by paths as the server gives them: `agents.writer.routes.1`. */
  problems?: readonly Api.NetworkProblem[] | undefined;
  /** By key. What has none is laid out. */
  positions?: Readonly<Record<string, Position>> | undefined;
  /** Where a run is right now, and where it was. */
  active?: GraphPath | undefined;
  visited?: GraphPath | undefined;
  selected?: GraphSelection | null | undefined;
  onSelect?: ((selection: GraphSelection | null) => void) | undefined;
  /** Whether agents can be moved, connected and removed. Default: false. */
  editable?: boolean | undefined;
  onConnect?: ((from: string, to: string) => void) | undefined;
  onMove?: ((key: string, position: Position) => void) | undefined;
  onRemove?: ((selection: GraphSelection) => void) | undefined;
  onDrop?: ((dropped: Dropped) => void) | undefined;
  /** Which way routes lead, where it is laid out. Default: to the right. */
  direction?: 'right' | 'down' | undefined;
  minimap?: boolean | undefined;
  /** Agents that the view keeps in sight, by key: of a large network, those that a run came to. Default: all. */
  inView?: readonly string[] | undefined;
  /** What is shown where there are no agents. */
  empty?: string | undefined;
  label?: string | undefined;
  className?: string | undefined;
}

export interface Layout {
  places: Map<string, Position>;
  /** By `routeName`: points on the way of those routes that would lie behind the boxes between. */
  ways: Map<string, readonly Position[]>;
}
