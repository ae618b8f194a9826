import type { Change, Json } from '@troupe/protocol';

/** Every place where two documents differ, by its JSONPath; objects and arrays are gone into, so a path is as long as it must be. */
export function diffJson(from: Json, to: Json, path = '$'): Change[] {
  if (Array.isArray(from) && Array.isArray(to)) {
    const length = Math.max(from.length, to.length);
    return Array.from({ length }, (_, index) => index).flatMap((index) =>
      diffAt(`${path}[${index}]`, from[index], to[index]),
    );
  }
  if (isObject(from) && isObject(to)) {
    const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
    return keys.flatMap((key) => diffAt(`${path}${step(key)}`, own(from, key), own(to, key)));
  }
  return Object.is(from, to) ? [] : [{ path, from, to }];
}

function diffAt(path: string, from: Json | undefined, to: Json | undefined): Change[] {
  if (from === undefined) return to === undefined ? [] : [{ path, to }];
  return to === undefined ? [{ path, from }] : diffJson(from, to, path);
}

function step(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function own(value: { [key: string]: Json }, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function isObject(value: Json): value is { [key: string]: Json } {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
