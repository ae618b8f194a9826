/**
 * Carries out what has the same key one after the other, in the order in which it was asked for. What fails holds nobody up.
 */
export function inTurn(): <Done>(key: string, act: () => Promise<Done>) => Promise<Done> {
  const last = new Map<string, Promise<unknown>>();
  return (key, act) => {
    const before = last.get(key);
    const turn = before ? before.then(act, act) : act();
    last.set(key, turn);
    const forget = () => {
      if (last.get(key) === turn) last.delete(key);
    };
    turn.then(forget, forget);
    return turn;
  };
}
