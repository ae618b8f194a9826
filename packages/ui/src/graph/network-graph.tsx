import {
  applyNodeChanges,
  Background,
  Controls,
  MiniMap,
  type NodeChange,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react';
import { type DragEvent, useEffect, useMemo, useRef, useState } from 'react';
import { classes } from '../basic/classes.ts';
import { WarnIcon } from '../basic/icons.tsx';
import { AgentBox, type AgentNode } from './agent-node.tsx';
import { WIDTH } from './boxes.ts';
import { droppedData, isDroppable } from './drag.ts';
import { elementsOf } from './elements.ts';
import { layoutOf, shapeOf } from './layout.ts';
import { type RouteEdge, RouteLine } from './route-edge.tsx';
import type { GraphSelection, NetworkGraphProps } from './types.ts';

const nodeTypes = { agent: AgentBox };
const edgeTypes = { route: RouteLine };
const FIT = { padding: 0.15, maxZoom: 1 };
const NOWHERE = {};

/** A network: agents and the routes between them, to look at or to edit. */
export function NetworkGraph(props: NetworkGraphProps) {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

function Drawing(props: NetworkGraphProps) {
  const { agents, problems, active, visited, selected, positions = NOWHERE } = props;
  const { editable = false, direction = 'right', minimap = false, label = 'Network' } = props;
  const { onSelect, onConnect, onMove, onRemove, onDrop } = props;
  const flow = useReactFlow<AgentNode, RouteEdge>();
  const shape = shapeOf(agents);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what a place depends on; a word in a prompt moves nothing
  const laid = useMemo(() => layoutOf(agents, positions, direction), [shape, positions, direction]);
  const drawn = useMemo(
    () => elementsOf({ agents, problems, active, visited, selected, editable, direction }, laid),
    [agents, problems, active, visited, selected, editable, direction, laid],
  );
  const [nodes, setNodes] = useState(drawn.nodes);
  const [chosenEdge, setChosenEdge] = useState<string | null>(null);
  useEffect(() => {
    setNodes((known) => {
      const before = new Map(known.map((node) => [node.id, node]));
      return drawn.nodes.map((node) => {
        const { measured, selected: was, dragging, position } = before.get(node.id) ?? {};
        return {
          ...node,
          ...(measured ? { measured } : {}),
          ...(node.selected === undefined && was !== undefined ? { selected: was } : {}),
          // Whoever holds a box goes on holding it, whatever comes in meanwhile.
          ...(dragging && position ? { position, dragging } : {}),
        };
      });
    });
  }, [drawn.nodes]);
  const edges = useMemo(
    () =>
      selected === undefined
        ? drawn.edges.map((edge) => (edge.id === chosenEdge ? { ...edge, selected: true } : edge))
        : drawn.edges,
    [drawn.edges, chosenEdge, selected],
  );

  // Another set of agents is another picture: show all of it. Whoever edits keeps the view, unless what is new were out of sight.
  const frame = useRef<HTMLElement>(null);
  const shown = useRef<ReadonlySet<string>>(new Set());
  const names = agents.map(({ key }) => key).join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the agents are others
  useEffect(() => {
    const before = shown.current;
    shown.current = new Set(agents.map(({ key }) => key));
    const isEdited = editable && agents.some(({ key }) => before.has(key));
    if (isEdited && agents.every(({ key }) => before.has(key) || isInSight(key))) return;
    const drawing = requestAnimationFrame(() => void flow.fitView(FIT));
    return () => cancelAnimationFrame(drawing);
  }, [names, direction]);
  const wanted = props.inView?.join(' ') ?? '';
  useEffect(() => {
    if (!wanted) return;
    const drawing = requestAnimationFrame(
      () => void flow.fitView({ ...FIT, nodes: wanted.split(' ').map((id) => ({ id })) }),
    );
    return () => cancelAnimationFrame(drawing);
  }, [wanted, flow]);
  const isInSight = (key: string): boolean => {
    const place = laid.places.get(key);
    const seen = frame.current?.getBoundingClientRect();
    if (!place || !seen) return false;
    const start = flow.flowToScreenPosition(place);
    const end = flow.flowToScreenPosition({ x: place.x + WIDTH, y: place.y + 44 });
    return start.x >= seen.left && start.y >= seen.top && end.x <= seen.right && end.y <= seen.bottom;
  };

  const told = useRef('');
  const tell = (selection: GraphSelection | null) => {
    const name = JSON.stringify(selection);
    if (name === told.current) return;
    told.current = name;
    onSelect?.(selection);
  };
  const onNodesChange = (changes: NodeChange<AgentNode>[]) => {
    setNodes((known) => applyNodeChanges(changes, known));
    // The end of a drag, or an arrow key.
    for (const change of changes) {
      if (change.type !== 'position' || change.dragging || !change.position) continue;
      onMove?.(change.id, change.position);
    }
  };
  const drop = (event: DragEvent) => {
    const data = droppedData(event.dataTransfer);
    if (!data || !onDrop) return;
    event.preventDefault();
    const below = document.elementsFromPoint(event.clientX, event.clientY);
    const node = below.map((element) => element.closest<HTMLElement>('.react-flow__node')).find(Boolean);
    const position = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    onDrop({ ...data, position, onAgent: node?.dataset.id ?? null });
  };

  return (
    <section
      ref={frame}
      className={classes('troupe-graph', props.className)}
      aria-label={label}
      onDragOver={(event) => {
        if (!editable || !onDrop || !isDroppable(event.dataTransfer)) return;
        event.preventDefault();
        event.dataTransfer.dropEffect = 'copy';
      }}
      onDrop={editable ? drop : undefined}
    >
      <ReactFlow<AgentNode, RouteEdge>
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        onNodesChange={onNodesChange}
        onEdgesChange={(changes) => {
          for (const change of changes) {
            if (change.type === 'select')
              setChosenEdge((known) => (change.selected ? change.id : known === change.id ? null : known));
          }
        }}
        onSelectionChange={({ nodes: [node], edges: [edge] }) => {
          tell(node ? { agent: node.id } : edge ? { route: [edge.source, edge.target] } : null);
        }}
        onConnect={({ source, target }) => onConnect?.(source, target)}
        isValidConnection={({ source, target }) =>
          source !== target && !edges.some((edge) => edge.source === source && edge.target === target)
        }
        onBeforeDelete={async ({ nodes: gone, edges: cut }) => {
          // What is removed is removed by whoever holds the network.
          for (const node of gone) onRemove?.({ agent: node.id });
          if (gone.length === 0) for (const edge of cut) onRemove?.({ route: [edge.source, edge.target] });
          return false;
        }}
        deleteKeyCode={editable && onRemove ? ['Backspace', 'Delete'] : null}
        nodesDraggable={editable}
        nodesConnectable={editable}
        nodesFocusable
        edgesFocusable
        fitView
        fitViewOptions={FIT}
        minZoom={0.1}
        maxZoom={2}
        // What is edited has the wheel to itself; what is shown within a page lets the page be scrolled.
        preventScrolling={editable}
        zoomOnScroll={false}
        panOnScroll={editable}
        zoomActivationKeyCode={['Control', 'Meta']}
      >
        <Background gap={16} size={1} />
        <Controls showInteractive={false} />
        {minimap && <MiniMap pannable zoomable ariaLabel="Overview" />}
      </ReactFlow>
      {drawn.rest.length > 0 && (
        <ul className="troupe-graph-problems">
          {drawn.rest.map((problem) => (
            <li key={problem}>
              <WarnIcon />
              {problem}
            </li>
          ))}
        </ul>
      )}
      {agents.length === 0 && (
        <p className="troupe-graph-empty">
          {props.empty ?? (editable ? 'Drop an agent here to begin.' : 'No agents yet.')}
        </p>
      )}
    </section>
  );
}
