import { ApiError, type Troupe } from '@troupe/sdk';

const asked = new WeakMap<Troupe, Promise<string | null>>();

/** The person that the token of a client names; null where there is none. Asked once. */
export function meOf(troupe: Troupe): Promise<string | null> {
  const before = asked.get(troupe);
  if (before) return before;
  const me = troupe.entities.me().then(
    ({ id }) => id,
    (error: unknown) => {
      // A key names nobody, and that stays so; what could not be asked may be another time.
      const isFinal = error instanceof ApiError && error.status < 500 && error.status !== 401;
      if (!isFinal) asked.delete(troupe);
      return null;
    },
  );
  asked.set(troupe, me);
  return me;
}
