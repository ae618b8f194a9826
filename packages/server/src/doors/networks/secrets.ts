import type { Instruction, JsonObject, NetworkTask, SnapshotTool, Verdict } from '@troupe/protocol';
import { mapTexts, templateOf } from '../../base/index.ts';
import { type Database, secretsNotSet } from '../../store/index.ts';
import type { Network } from './network.ts';

/** A call that cannot be made because a secret is not set is nothing that another decision could mend. */
export async function secretsMissing(
  db: Database,
  project: string,
  network: Network,
  judged: readonly { action: Instruction['action'] | NetworkTask; verdict: Verdict }[],
): Promise<Verdict | null> {
  const named = new Map<string, string>();
  for (const { action, verdict } of judged) {
    if (action.type !== 'USE_TOOL' || verdict.status !== 'ok') continue;
    for (const name of secretsIn(network.executed(action.tool))) named.set(name, action.tool);
  }
  if (named.size === 0) return null;
  const [missing] = await secretsNotSet(db, project, [...named.keys()]);
  if (missing === undefined) return null;
  return {
    status: 'error',
    code: 'secret_missing',
    message: `The tool "${named.get(missing)}" needs the secret "${missing}", which the project does not have. Somebody who runs the project must set it.`,
  };
}

/** Of its request, or of the server that has it. */
function secretsIn(tool: SnapshotTool | undefined): Set<string> {
  const { request = null, server, secretRef } = tool?.config ?? {};
  const names = new Set<string>(typeof secretRef === 'string' ? [secretRef] : []);
  const { url = null, headers = null, args = null, env = null } = (server ?? {}) as JsonObject;
  mapTexts([request, url, headers, args, env], (text) => {
    for (const part of templateOf(text)) if (part.from === 'secrets') names.add(part.name);
    return text;
  });
  return names;
}
