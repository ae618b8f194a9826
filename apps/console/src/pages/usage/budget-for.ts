import type { Choosable } from '../../blocks/choose-one.tsx';
import { troupe } from '../../data/client.ts';
import { shortId } from '../../data/format.ts';

const SHOWN = 30;

/** What a budget can be for, by what it is called; those that were made or spoken to last where nothing is typed. */
export const budgetFor = {
  async agent(text: string): Promise<Choosable[]> {
    const { data } = await troupe.agents.list({ query: { limit: SHOWN, ...(text ? { search: text } : {}) } });
    return data.map(({ id, name, description }) => ({ id, name, about: description }));
  },
  async space(text: string): Promise<Choosable[]> {
    const wanted = text.toLowerCase();
    return first(
      troupe.all(({ query }) => troupe.spaces.list({ query: { ...query, limit: 100 } })),
      ({ id, name }) =>
        wanted === '' || name?.toLowerCase().includes(wanted) || id.startsWith(wanted)
          ? { id, name: name ?? shortId(id) }
          : null,
    );
  },
  async session(text: string): Promise<Choosable[]> {
    return first(
      troupe.all(({ query }) =>
        troupe.sessions.listAll({ query: { ...query, limit: 100, ...(text ? { search: text } : {}) } }),
      ),
      ({ id, title }) => ({ id, name: title ?? shortId(id), about: title && shortId(id) }),
    );
  },
};

async function first<Row>(
  rows: AsyncIterable<Row>,
  choosable: (row: Row) => Choosable | null,
): Promise<Choosable[]> {
  const found = [];
  for await (const row of rows) {
    const one = choosable(row);
    if (one) found.push(one);
    if (found.length >= SHOWN) break;
  }
  return found;
}
