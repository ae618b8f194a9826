import { Troupe, type TroupeOptions } from '@troupe/sdk';
import {
  createContext,
  type ReactNode,
  type RefObject,
  use,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { meOf } from './me.ts';

export interface TroupeProviderProps {
  /** A client, or what one is made of. A client is better kept outside: everything is shared by those who use the same. */
  client: Troupe | TroupeOptions;
  /** Who one is, where a key is used; with a token the server knows. */
  entityId?: string | undefined;
  /**
   * Keeps what was said and could not be sent in the storage of the browser, until it is sent or discarded: a page that is loaded anew sends it. Default:
   * false, since whoever can look into that storage can read it.
   */
  keepUnsent?: boolean | undefined;
  children?: ReactNode;
}

export interface Given {
  troupe: Troupe;
  entityId: string | null;
  keepUnsent: boolean;
}

const Context = createContext<Given | null>(null);

/** The client for all hooks below it. */
export function TroupeProvider({
  client,
  entityId,
  keepUnsent = false,
  children,
}: TroupeProviderProps): ReactNode {
  const latest = useRef(client);
  useEffect(() => {
    latest.current = client;
  });
  // Options are often written in place, and are then other ones with every render: what they say is their name.
  const name = client instanceof Troupe ? client : nameOf(client);
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const troupe = useMemo(() => (client instanceof Troupe ? client : clientOf(client, latest)), [name]);
  const given = useMemo(
    () => ({ troupe, entityId: entityId ?? null, keepUnsent }),
    [troupe, entityId, keepUnsent],
  );
  return <Context value={given}>{children}</Context>;
}

/** A function that gives the token is the one of the last render, not of the first. */
function clientOf(options: TroupeOptions, latest: RefObject<Troupe | TroupeOptions>): Troupe {
  if (typeof options.token !== 'function') return new Troupe(options);
  const token = () => {
    const { token: now } = latest.current as TroupeOptions;
    return typeof now === 'function' ? now() : (now ?? '');
  };
  return new Troupe({ ...options, token });
}

function nameOf({ baseUrl, key, token, retries, timeoutMs }: TroupeOptions): string {
  return JSON.stringify([baseUrl, key, typeof token === 'string' ? token : null, retries, timeoutMs]);
}

/** For the hooks of this package. */
export function useGiven(): Given {
  const given = use(Context);
  if (!given) throw new Error('Put a <TroupeProvider client={…}> around what uses hooks of Troupe.');
  return given;
}

/** The client of the provider. */
export function useTroupe(): Troupe {
  return useGiven().troupe;
}

/** Who one is: what the provider was told, else the person that the token names; null where neither says, or not yet. */
export function useEntityId(): string | null {
  const { troupe, entityId } = useGiven();
  const [named, setNamed] = useState<{ by: Troupe; id: string | null } | null>(null);
  useEffect(() => {
    if (entityId !== null) return;
    let isWanted = true;
    void meOf(troupe).then((id) => isWanted && setNamed({ by: troupe, id }));
    return () => {
      isWanted = false;
    };
  }, [troupe, entityId]);
  // Who another client named is not who one is by now.
  return entityId ?? (named?.by === troupe ? named.id : null);
}
