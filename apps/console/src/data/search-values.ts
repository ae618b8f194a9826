/** What stands in an address may be anything: only what is meant is taken. */
export function textIn(search: Record<string, unknown>, name: string): string | undefined {
  const value = search[name];
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value !== '' ? value.slice(0, 500) : undefined;
}

export function oneIn<Value extends string>(
  search: Record<string, unknown>,
  name: string,
  allowed: readonly Value[],
): Value | undefined {
  const value = search[name];
  return allowed.find((one) => one === value);
}

/** Without what is undefined, so that addresses stay short. */
export function given<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}

/** Some of the values of an address; undefined takes one away. */
export type SearchChange<Search> = { [Name in keyof Search]?: Search[Name] | undefined };
