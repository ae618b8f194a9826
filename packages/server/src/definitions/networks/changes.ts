import {
  type Change,
  type Json,
  type NetworkAgentDefinition,
  type NetworkDefinition,
  networkDefinition,
} from '@troupe/protocol';
import { diffJson } from '../../base/index.ts';

/** Where two definitions differ, by key: `$.agents.writer.prompt`. Lists of keys are told as a whole. Null: there was none before. */
export function changesBetween(from: NetworkDefinition | null, to: NetworkDefinition): Change[] {
  const changes = diffJson(from ? byKey(from) : nothing(to), byKey(to)).map(whole(from, to));
  const once = [...new Map(changes.map((change) => [change.path, change])).values()];
  if (!from) return once;
  return [...once, ...moved('tools', from, to), ...moved('agents', from, to)];
}

/** Agents and tools by their keys in lower case, since that is what they are known by. */
function byKey({ tools, agents, ...rest }: NetworkDefinition): Json {
  const keyed = (items: { key: string }[]) =>
    Object.fromEntries(items.map((item) => [item.key.toLowerCase(), item]));
  return { ...rest, tools: keyed(tools), agents: keyed(agents) } as unknown as Json;
}

function nothing({ name }: NetworkDefinition): Json {
  const { name: _, ...rest } = byKey(networkDefinition.parse({ name })) as { [key: string]: Json };
  return rest as Json;
}

/** A route that is put before ten others moves all of them: one change, with the list before and after. */
function whole(from: NetworkDefinition | null, to: NetworkDefinition) {
  const [before, after] = [from, to].map(
    (definition) => new Map(definition?.agents.map((agent) => [agent.key.toLowerCase(), agent])),
  ) as [Map<string, NetworkAgentDefinition>, Map<string, NetworkAgentDefinition>];
  return (change: Change): Change => {
    const found =
      /^(\$\.agents(?:\.(?<word>\w+)|\["(?<quoted>[^"]+)"\])\.(?<list>tools|routes))\[\d+\]$/.exec(
        change.path,
      );
    if (!found) return change;
    const { word, quoted, list } = found.groups as {
      word?: string;
      quoted?: string;
      list: 'tools' | 'routes';
    };
    const key = (word ?? quoted)!;
    return { path: found[1]!, from: before.get(key)?.[list] ?? [], to: after.get(key)?.[list] ?? [] };
  };
}

/** In another order, of those that are in both. */
function moved(list: 'tools' | 'agents', from: NetworkDefinition, to: NetworkDefinition): Change[] {
  const [before, after] = [keysIn(from, list), keysIn(to, list)];
  const [inBefore, inAfter] = [new Set(before), new Set(after)];
  const stayed = before.filter((key) => inAfter.has(key));
  const stay = after.filter((key) => inBefore.has(key));
  if (stayed.every((key, index) => key === stay[index])) return [];
  return [{ path: `$.${list}`, from: before, to: after }];
}

function keysIn(definition: NetworkDefinition, list: 'tools' | 'agents'): string[] {
  return definition[list].map(({ key }) => key.toLowerCase());
}
