import type { AgentSnapshot, SnapshotTool } from '@troupe/protocol';
import type { Door } from './door.ts';

/**
 * A snapshot with the tools that a door brings; the door's win over one of the agent with the same name. Snapshots and
 * doors never change, so what was made once is kept as long as they are.
 */
export class DoorTools {
  readonly #merged = new WeakMap<Door, WeakMap<AgentSnapshot, AgentSnapshot>>();

  with(door: Door, snapshot: AgentSnapshot): AgentSnapshot {
    if (!door.tools) return snapshot;
    let ofDoor = this.#merged.get(door);
    if (!ofDoor) {
      ofDoor = new WeakMap();
      this.#merged.set(door, ofDoor);
    }
    let merged = ofDoor.get(snapshot);
    if (!merged) {
      merged = withBrought(snapshot, door.tools(snapshot));
      ofDoor.set(snapshot, merged);
    }
    return merged;
  }
}

function withBrought(snapshot: AgentSnapshot, brought: SnapshotTool[]): AgentSnapshot {
  if (brought.length === 0) return snapshot;
  const names = new Set(brought.map(({ name }) => name));
  return { ...snapshot, tools: [...brought, ...snapshot.tools.filter(({ name }) => !names.has(name))] };
}
