import type { Model, Provider } from '@troupe/protocol';
import type { Troupe } from '@troupe/sdk';
import { CommandError } from '../failure.ts';
import { ID } from './find-agent.ts';

/** A model by its id, by what its provider calls it, or by the name that is shown. */
export async function findModel(troupe: Troupe, given: string): Promise<Model> {
  if (ID.test(given)) return troupe.models.getModel({ params: { modelId: given } });
  const found = await allOf<Model>(troupe, (input) => troupe.models.listModels(input));
  return theOne('model', given, found, ({ modelId, displayName }) => [modelId, displayName]);
}

/** An id is taken as it is: the server says where there is no such model. */
export async function modelIdOf(troupe: Troupe, given: string): Promise<string> {
  return ID.test(given) ? given : (await findModel(troupe, given)).id;
}

/** A provider by its id or its name. */
export async function findProvider(troupe: Troupe, given: string): Promise<Provider> {
  if (ID.test(given)) return troupe.models.getProvider({ params: { providerId: given } });
  const found = await allOf<Provider>(troupe, (input) => troupe.models.listProviders(input));
  return theOne('provider', given, found, ({ name }) => [name]);
}

export async function allOf<Item>(
  troupe: Troupe,
  list: (input: { query: { cursor?: string } }) => Promise<{ data: Item[]; nextCursor: string | null }>,
): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of troupe.all(list)) all.push(item);
  return all;
}

/** The only one that is called so, whatever the case. */
export function theOne<Item extends { id: string }>(
  noun: string,
  given: string,
  all: Item[],
  namesOf: (item: Item) => string[],
): Item {
  const found = all.filter((item) =>
    namesOf(item).some((name) => name.toLowerCase() === given.toLowerCase()),
  );
  if (found.length === 1) return found[0]!;
  if (found.length > 1)
    throw new CommandError(
      `${noun}_ambiguous`,
      `There are ${found.length} ${noun}s "${given}". Say which by its id: ${found.map(({ id }) => id).join(', ')}.`,
    );
  throw new CommandError(
    `${noun}_not_found`,
    `There is no ${noun} "${given}". \`troupe ${noun}s list\` shows all.`,
  );
}
