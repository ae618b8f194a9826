import type { Rule } from '../evidence.ts';

/** Every delivery reached the receiver at least once, with a valid signature. */
export const webhooksArrive: Rule = ({ deliveries, received, forged }) => {
  const got = new Set(received.map(({ deliveryId }) => deliveryId));
  return [
    ...forged.map((text) => ({ subject: 'signature', message: text })),
    ...deliveries.flatMap(({ id, trigger, document, status }) => {
      if (status !== 'delivered')
        return [{ subject: document, message: `delivery ${id} of ${trigger} is ${status}` }];
      return got.has(id)
        ? []
        : [{ subject: document, message: `delivery ${id} of ${trigger} was never received` }];
    }),
  ];
};

/**
 * Deliveries of one document and trigger come for the first time in the order of the changes. A repeat may come late: a process
 * that was stopped with a request in hand sends it when it goes on.
 */
export const webhooksInOrder: Rule = ({ deliveries, received }) => {
  const order = new Map(deliveries.map(({ id, change }) => [id, change]));
  return [...Map.groupBy(received, ({ trigger, documentId }) => `${trigger} ${documentId}`)].flatMap(
    ([subject, list]) => {
      const unknown = list.find(({ deliveryId }) => !order.has(deliveryId));
      if (unknown) return [{ subject, message: `delivery ${unknown.deliveryId} is not in the database` }];
      const changes = [...new Set(list.map(({ deliveryId }) => order.get(deliveryId)!))];
      const wrong = changes.findIndex((change, at) => at > 0 && change < changes[at - 1]!);
      return wrong < 0 ? [] : [{ subject, message: `changes came as ${changes.join(', ')}` }];
    },
  );
};

/** Every change that a client made and the server accepted was delivered: sessions, their titles in order, messages. */
export const changesAreDelivered: Rule = ({ requests, received, titles }) => {
  const created = new Set(
    received.flatMap(({ trigger, event, documentId }) =>
      event === 'create' ? [`${trigger} ${documentId}`] : [],
    ),
  );
  const missing = requests.flatMap(({ made, outcome, ids, label }) => {
    const trigger = (
      { session: 'sessions', fork: 'sessions', message: 'messages' } as Record<string, string>
    )[made];
    if (!trigger || outcome !== 'accepted' || created.has(`${trigger} ${ids[0]}`)) return [];
    return [{ subject: label, message: `${made} ${ids[0]} was accepted, and no webhook told of it` }];
  });
  const late = [...titles].flatMap(([session, given]) => {
    const seen = received
      .filter(({ trigger, documentId }) => trigger === 'sessions' && documentId === session)
      .map(({ after }) => after?.title);
    const first = given.map((title) => seen.indexOf(title));
    const isInOrder = first.every((at, n) => at >= 0 && (n === 0 || at > first[n - 1]!));
    return isInOrder
      ? []
      : [{ subject: session, message: `titles ${given.join(', ')} were told as ${seen.join(', ')}` }];
  });
  return [...missing, ...late];
};
