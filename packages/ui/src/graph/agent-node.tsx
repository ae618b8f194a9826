import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import { memo } from 'react';
import { Avatar } from '../basic/avatar.tsx';
import { classes } from '../basic/classes.ts';
import { WarnIcon } from '../basic/icons.tsx';
import { CHIPS } from './boxes.ts';
import type { GraphAgent } from './types.ts';

interface AgentNodeData extends Record<string, unknown> {
  agent: GraphAgent;
  problems: readonly string[];
  /** Names of its tools that something is wrong with. */
  badTools: readonly string[];
  light: 'active' | 'visited' | null;
  isEditable: boolean;
  direction: 'right' | 'down';
}
export type AgentNode = Node<AgentNodeData, 'agent'>;

export const AgentBox = memo(function AgentBox({ data, selected }: NodeProps<AgentNode>) {
  const { agent, problems, badTools, light, isEditable, direction } = data;
  // What is wrong must not be among those that are only counted.
  const tools = [...badTools, ...(agent.tools ?? []).filter((tool) => !badTools.includes(tool))];
  const name = agent.displayName || agent.key;
  const [into, out] =
    direction === 'right' ? [Position.Left, Position.Right] : [Position.Top, Position.Bottom];
  return (
    <div
      className={classes(
        'troupe-node',
        light && `troupe-node-${light}`,
        selected && 'troupe-node-selected',
        problems.length > 0 && 'troupe-node-bad',
      )}
    >
      <Handle type="target" position={into} isConnectable={isEditable} />
      <div className="troupe-node-head">
        <Avatar name={name} id={agent.key} type="agent" size="small" active={light === 'active'} />
        <span className="troupe-node-names">
          <span className="troupe-node-name">{name}</span>
          {agent.displayName && agent.displayName !== agent.key && (
            <span className="troupe-node-key">{agent.key}</span>
          )}
        </span>
        {agent.isDefault && <span className="troupe-tag troupe-tag-accent">start</span>}
        {agent.allowRespond && <span className="troupe-tag troupe-tag-good">responds</span>}
      </div>
      {agent.description && <p className="troupe-node-about">{agent.description}</p>}
      {tools.length > 0 && (
        <ul className="troupe-node-tools">
          {tools.slice(0, CHIPS).map((tool) => (
            <li key={tool} className={classes('troupe-chip', badTools.includes(tool) && 'troupe-chip-bad')}>
              {tool}
            </li>
          ))}
          {tools.length > CHIPS && <li className="troupe-chip troupe-chip-more">+{tools.length - CHIPS}</li>}
        </ul>
      )}
      {problems.length > 0 && (
        <p className="troupe-node-problem">
          <WarnIcon />
          <span>
            {problems[0]}
            {problems.length > 1 && ` (and ${problems.length - 1} more)`}
          </span>
        </p>
      )}
      <Handle type="source" position={out} isConnectable={isEditable} />
    </div>
  );
});
