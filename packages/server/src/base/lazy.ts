import { createRequire } from 'node:module';

// Packages that an idle process does not need are loaded at first use. Statically imported, undici, kysely, CEL, graphile-worker, ajv,
// jose and yaml took 60 MB of memory and half of the start time.

const require = createRequire(import.meta.url);

/**
 * A package that is loaded by the first call: `const yaml = lazy<typeof import('yaml')>('yaml')`, then `yaml().parse(…)`. Synchronous, so
 * that the caller stays synchronous. The type argument is what `tools/rooms.ts` sees, so it names the same package.
 */
export function lazy<Module>(name: string): () => Module {
  return once(() => require(name) as Module);
}

/** A value that is made by the first call. */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
