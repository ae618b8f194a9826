import { useQuery } from '@tanstack/react-query';
import { type Dropped, type GraphSelection, layoutOf, NetworkGraph } from '@troupe/ui/graph';
import { useMemo, useRef, useState } from 'react';
import { agentsQuery } from '../../../data/queries.ts';
import {
  addAgent,
  agentOf,
  type Definition,
  freeKey,
  moveAgent,
  placeAgents,
  positionsOf,
  removeAgent,
  setRoute,
  setTool,
} from '../draft/definition.ts';
import { AgentPanel } from './agent-panel.tsx';
import type { EditorProps } from './graph-tab.tsx';
import { NetworkPanel } from './network-panel.tsx';
import { Palette } from './palette.tsx';
import { RoutePanel } from './route-panel.tsx';

/** With every agent where it stands: whoever puts one somewhere does not want the others to move. */
const asSeen = (definition: Definition) =>
  placeAgents(definition, layoutOf(definition.agents, positionsOf(definition), 'right').places);

/** The canvas, what can be put on it, and what is known of what is selected. */
export default function GraphEditor({ draft, checked: { trial }, search, go }: EditorProps) {
  const { definition, isFixed } = draft;
  const { data: projectAgents } = useQuery(agentsQuery);
  const [route, setChosenRoute] = useState<readonly [string, string] | null>(null);
  const positions = useMemo(() => positionsOf(definition), [definition]);
  const agent = search.agent === undefined ? undefined : agentOf(definition, search.agent);
  const isRoute = route !== null && agentOf(definition, route[0])?.routes.some((to) => to === route[1]);
  const selected: GraphSelection | null = agent ? { agent: agent.key } : isRoute ? { route } : null;

  // A graph that is being put up says that nothing is selected, before it knows what is: that is not taken for a wish.
  const isKnown = useRef(false);
  const select = (selection: GraphSelection | null) => {
    if (selection === null && !isKnown.current) return;
    isKnown.current = selection !== null;
    setChosenRoute(selection && 'route' in selection ? selection.route : null);
    const key = selection && 'agent' in selection ? selection.agent : undefined;
    if (key !== search.agent) go({ agent: key });
  };
  const add = (agentId: string | null, position?: { x: number; y: number }) => {
    const lender = projectAgents?.find(({ id }) => id === agentId);
    const key = freeKey(definition, lender?.name ?? 'agent');
    const given = lender
      ? { key, agentId: lender.id, displayName: lender.name, description: lender.description ?? '' }
      : { key };
    draft.edit((now) => addAgent(position ? asSeen(now) : now, given, position));
    go({ agent: key });
  };
  const drop = ({ kind, name, position, onAgent }: Dropped) => {
    if (kind === 'agent') add(name === '' || name === 'own' ? null : name, position);
    else if (onAgent) {
      draft.edit((now) => setTool(now, onAgent, name, true));
      go({ agent: onAgent });
    }
  };
  return (
    <div className="flex h-full min-h-0 flex-col overflow-y-auto md:flex-row md:overflow-hidden">
      {!isFixed && (
        <Palette
          onAddAgent={(agentId) => add(agentId)}
          selectedAgent={agent?.key ?? null}
          onAddTool={(tool) => agent && draft.edit((now) => setTool(now, agent.key, tool, true))}
        />
      )}
      <div className="min-h-96 min-w-0 flex-1 bg-ground">
        <NetworkGraph
          className="h-full"
          label="Graph of the network"
          agents={definition.agents}
          problems={trial.problems}
          positions={positions}
          editable={!isFixed}
          minimap={definition.agents.length > 20}
          selected={selected}
          onSelect={select}
          onConnect={(from, to) => draft.edit((now) => setRoute(now, from, to, true))}
          onMove={(key, position) =>
            draft.edit((now) => moveAgent(asSeen(now), key, position), `move ${key}`)
          }
          onRemove={(gone) =>
            draft.edit((now) =>
              'agent' in gone
                ? removeAgent(now, gone.agent)
                : setRoute(now, gone.route[0], gone.route[1], false),
            )
          }
          onDrop={drop}
          empty="Drag an agent here, or add one with the buttons beside."
        />
      </div>
      <aside
        aria-label="What is selected"
        className="w-full shrink-0 border-t border-line bg-surface md:w-80 md:overflow-y-auto md:border-t-0 md:border-l"
      >
        {agent ? (
          <AgentPanel
            key={agent.key}
            draft={draft}
            agent={agent}
            problems={trial.problems}
            onRename={(key) => go({ agent: key })}
            onClose={() => go({ agent: undefined })}
          />
        ) : isRoute ? (
          <RoutePanel draft={draft} route={route} onClose={() => setChosenRoute(null)} />
        ) : (
          <NetworkPanel draft={draft} />
        )}
      </aside>
    </div>
  );
}
