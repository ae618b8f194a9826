import type { Rule } from '../evidence.ts';

/** Every copy has what the server has, and nothing else. */
export const copiesAreEqual: Rule = ({ copies }) =>
  copies.flatMap(({ user, collection, client, server, rows = [] }) => {
    const subject = `${user} ${collection}`;
    const missing = [...server.keys()].filter((id) => !client.has(id));
    const extra = [...client.keys()].filter((id) => !server.has(id));
    const different = [...server].filter(([id, document]) => client.has(id) && client.get(id) !== document);
    const first = different[0];
    const untold = rows.filter((id) => !client.has(id));
    return [
      ...(untold.length > 0
        ? [{ subject, message: `the tables have ${untold.length} more: ${untold.slice(0, 3)}` }]
        : []),
      ...(missing.length > 0
        ? [{ subject, message: `the copy lacks ${missing.length}: ${missing.slice(0, 3)}` }]
        : []),
      ...(extra.length > 0
        ? [{ subject, message: `the copy has ${extra.length} too many: ${extra.slice(0, 3)}` }]
        : []),
      ...(first
        ? [
            {
              subject,
              message: `${different.length} differ, as ${first[0]}: ${client.get(first[0])} here, ${first[1]} there`,
            },
          ]
        : []),
    ];
  });
