import { Troupe } from '@troupe/sdk';

/** The key that this browser was given, where the server asks for one; gone with the tab unless it is to be remembered. */
const KEY = 'troupe.key';
/** The token of a person, where the key is a public one: never remembered, since it holds for minutes or hours. */
const TOKEN = 'troupe.token';

export function storedKey(): string | null {
  return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
}

export function storeKey(key: string | null, remember = false, token: string | null = null): void {
  sessionStorage.removeItem(KEY);
  sessionStorage.removeItem(TOKEN);
  localStorage.removeItem(KEY);
  if (token) sessionStorage.setItem(TOKEN, token);
  if (key) (remember ? localStorage : sessionStorage).setItem(KEY, key);
}

function makeClient(): Troupe {
  const key = storedKey();
  const token = sessionStorage.getItem(TOKEN);
  return new Troupe({ baseUrl: '', ...(key ? { key } : {}), ...(key && token ? { token } : {}) });
}

/** The one client of the page. A change of key loads the page anew. */
export const troupe: Troupe = makeClient();
