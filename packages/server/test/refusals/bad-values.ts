import type { ZodType } from 'zod';
import type { Random } from '../simulation/random.ts';

/** A value in a JSON document and how to put another in its place. */
interface JsonSlot {
  value: unknown;
  put(value: unknown): void;
  drop?(): void;
}

const DEEP = 10_000;
const oddNumbers = [-1, 0, 1.5, -0, 1e308, -1e308, 2 ** 31, 2 ** 53, 2 ** 63, 1e21, 5e-324];
const oddTexts = [
  '',
  ' ',
  'a\0b',
  '\u0000',
  '\ud800',
  'x\udc00y',
  '\u0001\u001b[31m',
  '\r\n',
  '\ufeff',
  '\u202e',
  '😀'.repeat(300),
  'x'.repeat(70_000),
  'null',
  '-1',
  '{}',
  "'; drop table troupe.agents; --",
  '../../etc/passwd',
];
const otherTypes = [null, true, false, 1, 'x', [], {}, [[]], { a: 1 }, [null]];

/** JSON that the schema does not take, made from some that it does; null where none was found. */
export function badJson(random: Random, schema: ZodType, valid: unknown): string | null {
  for (let attempt = 0; attempt < 20; attempt++) {
    const document = { root: structuredClone(valid) };
    if (random.chance(0.04)) return deep(random, document.root);
    const places = placesIn(document);
    for (let change = random.int(1, 2); change > 0; change--) spoil(random, random.pick(places));
    const text = JSON.stringify(document.root);
    if (text === undefined) continue;
    if (!isStorable(text)) return text;
    if (!schema.safeParse(JSON.parse(text)).success) return text;
  }
  return null;
}

/** Whether text of JSON holds only what a database takes; told from the text, unlike the server does. */
function isStorable(text: string): boolean {
  return !/\\u0000|\\ud[89a-f]|"__proto__":/i.test(text);
}

function deep(random: Random, valid: unknown): string {
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
  ] as const);
  const levels = random.pick([101, 1_000, DEEP]);
  const nested = `${open.repeat(levels)}1${close.repeat(levels)}`;
  if (valid === null || typeof valid !== 'object' || Array.isArray(valid)) return nested;
  const name = random.pick(['metadata', 'content', 'config', 'a', ...Object.keys(valid)]);
  // Of two fields with one name the last holds, so there must not be two.
  const rest = JSON.stringify({ ...valid, [name]: undefined }).slice(1);
  return `{"${name}":${nested}${rest === '}' ? '' : ','}${rest}`;
}

function placesIn(parent: Record<string, unknown> | unknown[]): JsonSlot[] {
  return Object.entries(parent).flatMap(([key, value]) => {
    const holder = parent as Record<string, unknown>;
    const place: JsonSlot = {
      value,
      put: (other) => {
        holder[key] = other;
      },
      ...(key === 'root' || Array.isArray(parent) ? {} : { drop: () => void delete holder[key] }),
    };
    const below =
      value !== null && typeof value === 'object' ? placesIn(value as Record<string, unknown>) : [];
    return [place, ...below];
  });
}

function spoil(random: Random, { value, put, drop }: JsonSlot): void {
  if (drop && random.chance(0.1)) drop();
  else if (isObject(value) && random.chance(0.7)) add(random, value);
  else if (Array.isArray(value) && random.chance(0.5)) {
    const item = value[0] ?? random.pick<unknown>(['x', 1, {}]);
    put(Array.from({ length: random.pick([300, 3_000]) }, () => item));
  } else if (typeof value === 'number' && random.chance(0.5)) put(random.pick(oddNumbers));
  else if (typeof value === 'string' && random.chance(0.6)) put(random.pick(oddTexts));
  else put(random.pick<unknown>(otherTypes));
}

function isObject(value: unknown): value is object {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function add(random: Random, object: object): void {
  const long = 'x'.repeat(5_000);
  const name = random.pick([
    'extra',
    '__proto__',
    '__proto__',
    'constructor',
    'toString',
    '',
    'a\0',
    long,
    '\udfff',
  ]);
  const value = random.pick<unknown>([1, { polluted: true }, [], null, 'x\0']);
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
