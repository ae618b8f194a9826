import { Troupe, type TroupeOptions } from '@troupe/sdk';
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react';

export interface TroupeProviderProps {
  /** A client, or what one is made of. A client is better kept outside: everything is shared by those who use the same. */
  client: Troupe | TroupeOptions;
  /** Who one is, where a key is used; with a token the server knows. */
  entityId?: string | undefined;
  children?: ReactNode;
}

const Context = createContext<{ troupe: Troupe; entityId: string | null } | null>(null);

/** The client for all hooks below it. */
export function TroupeProvider({ client, entityId, children }: TroupeProviderProps): ReactNode {
  const name = client instanceof Troupe ? null : nameOf(client);
  // Options are often written in place, and are then other ones with every render.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the options say is their name
  const troupe = useMemo(() => (client instanceof Troupe ? client : new Troupe(client)), [name ?? client]);
  const given = useMemo(() => ({ troupe, entityId: entityId ?? null }), [troupe, entityId]);
  return <Context value={given}>{children}</Context>;
}

function nameOf({ baseUrl, key, token, retries, timeoutMs }: TroupeOptions): string {
  return JSON.stringify([baseUrl, key, typeof token === 'string' ? token : null, retries, timeoutMs]);
}

function useGiven() {
  const given = use(Context);
  if (!given) throw new Error('Put a <TroupeProvider client={…}> around what uses hooks of Troupe.');
  return given;
}

/** The client of the provider. */
export function useTroupe(): Troupe {
  return useGiven().troupe;
}

const asked = new WeakMap<Troupe, Promise<string | null>>();

/** Who one is: what the provider was told, else the person that the token names; null where neither says, or not yet. */
export function useEntityId(): string | null {
  const { troupe, entityId } = useGiven();
  const [named, setNamed] = useState<string | null>(null);
  useEffect(() => {
    if (entityId !== null) return;
    let isWanted = true;
    const me = asked.get(troupe) ?? troupe.entities.me().then(({ id }) => id);
    asked.set(troupe, me);
    me.then(
      (id) => isWanted && setNamed(id),
      // A key names nobody; what could not be asked is asked again by the next one.
      () => asked.delete(troupe),
    );
    return () => {
      isWanted = false;
    };
  }, [troupe, entityId]);
  return entityId ?? named;
}
