import { Troupe } from '@troupe/sdk';

/** The key that this browser was given, where the server asks for one; gone with the tab unless it is to be remembered. */
const KEY = 'troupe.key';

export function storedKey(): string | null {
  return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
}

export function storeKey(key: string | null, remember = false): void {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
  if (key) (remember ? localStorage : sessionStorage).setItem(KEY, key);
}

export function makeClient(): Troupe {
  const key = storedKey();
  return new Troupe({ baseUrl: '', ...(key ? { key } : {}) });
}

/** The one client of the page. A change of key loads the page anew. */
export const troupe: Troupe = makeClient();
