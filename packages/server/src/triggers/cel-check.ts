import type { parse } from '@bufbuild/cel';
import { once } from '../base/index.ts';
import { cel, environment } from './cel.ts';
import type { Type as FieldType } from './collections.ts';

// What is wrong with a condition before it is ever evaluated: names that there are not, values of kinds that do not go together, an
// end that is no yes or no. The library evaluates and does not check; its own functions say which kinds they take, given one value of each.

export type Expression = ReturnType<typeof parse>['expr'];

type Plain = FieldType | 'uint' | 'bytes' | 'null' | 'type' | 'timestamp' | 'duration';
/** A value with fields of its own. */
interface Fields {
  name: string;
  fields: Record<string, Kind>;
}
type Kind = Plain | Fields;

export interface Problem {
  expression: bigint;
  message: string;
}

const LOGIC = new Set(['_&&_', '_||_']);
const EQUAL = new Set(['_==_', '_!=_']);
const NUMBERS = new Set<Kind>(['int', 'uint', 'double']);
const TYPE_NAMES = new Set([
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'list',
  'map',
  'null_type',
  'type',
]);
/** What comes of a function whatever it is given. */
const RESULTS: Record<string, Plain> = {
  '!_': 'bool',
  '_<_': 'bool',
  '_<=_': 'bool',
  '_>_': 'bool',
  '_>=_': 'bool',
  '@in': 'bool',
  contains: 'bool',
  startsWith: 'bool',
  endsWith: 'bool',
  matches: 'bool',
  size: 'int',
  int: 'int',
  uint: 'uint',
  double: 'double',
  string: 'string',
  bool: 'bool',
  bytes: 'bytes',
  type: 'type',
  timestamp: 'timestamp',
  duration: 'duration',
};
/** One value of each kind that functions can be tried with. */
const samples = once(
  (): Partial<Record<Plain, unknown>> => ({
    bool: true,
    int: 1n,
    double: 1.5,
    string: '1',
    list: cel().celList([]),
    map: cel().celMap(new Map()),
  }),
);
/** Loops within loops cost what a document is long, to the power of how deep they are. */
const MOST_LOOPS = 2;

/** All that is wrong with a condition over documents with these fields; and whether it can take long, so that it is watched. */
export function checkExpression(
  expression: Expression,
  fields: Record<string, FieldType>,
): { problems: Problem[]; loops: boolean } {
  const own: Fields = { name: 'event.document', fields };
  const document: Fields = { name: 'event.document', fields: { ...fields, data: own } };
  const event: Fields = {
    name: 'event',
    fields: { type: 'string', timestamp: 'int', document, before: { ...document, name: 'event.before' } },
  };
  const checker = new Checker();
  const kind = checker.kindOf(expression, { event }, 0);
  if (kind !== 'bool' && kind !== 'dyn')
    checker.problem(expression, `it comes to ${told(kind)}, and must come to true or false`);
  return { problems: checker.problems, loops: checker.loops };
}

class Checker {
  readonly problems: Problem[] = [];
  loops = false;

  problem(expression: Expression, message: string): Kind {
    this.problems.push({ expression: expression.id, message });
    return 'dyn';
  }

  kindOf(expression: Expression, scope: Record<string, Kind>, depth: number): Kind {
    const { exprKind } = expression;
    switch (exprKind.case) {
      case 'constExpr':
        return CONSTANTS[exprKind.value.constantKind.case ?? ''] ?? 'dyn';
      case 'identExpr':
        return this.#named(expression, exprKind.value.name, scope);
      case 'selectExpr': {
        const { operand, field, testOnly } = exprKind.value;
        const found = this.#field(expression, this.kindOf(operand!, scope, depth), field);
        return testOnly ? 'bool' : found;
      }
      case 'callExpr': {
        const { function: name, target, args } = exprKind.value;
        const kinds = args.map((each) => this.kindOf(each, scope, depth));
        const on = target ? this.kindOf(target, scope, depth) : undefined;
        return this.#call(expression, name, on, kinds, args);
      }
      case 'listExpr':
        for (const each of exprKind.value.elements) this.kindOf(each, scope, depth);
        return 'list';
      case 'structExpr': {
        const { messageName, entries } = exprKind.value;
        if (messageName) this.problem(expression, `there is no type "${messageName}"`);
        for (const { keyKind, value } of entries) {
          if (keyKind.case === 'mapKey') this.kindOf(keyKind.value, scope, depth);
          if (value) this.kindOf(value, scope, depth);
        }
        return 'map';
      }
      case 'comprehensionExpr': {
        this.loops = true;
        if (depth >= MOST_LOOPS)
          this.problem(expression, `it loops within loops, more than ${MOST_LOOPS} deep`);
        const { iterRange, iterVar, iterVar2, accuVar, accuInit, loopCondition, loopStep, result } =
          exprKind.value;
        const over = this.kindOf(iterRange!, scope, depth);
        if (over !== 'dyn' && over !== 'list' && over !== 'map' && typeof over === 'string')
          this.problem(iterRange!, `${told(over)} cannot be gone through; a list or a map can`);
        const start = this.kindOf(accuInit!, scope, depth);
        const inner: Record<string, Kind> = { ...scope, [iterVar]: 'dyn', [accuVar]: start };
        if (iterVar2) inner[iterVar2] = 'dyn';
        if (loopCondition) this.kindOf(loopCondition, inner, depth + 1);
        this.kindOf(loopStep!, inner, depth + 1);
        return this.kindOf(result!, inner, depth + 1);
      }
      default:
        return 'dyn';
    }
  }

  #named(expression: Expression, name: string, scope: Record<string, Kind>): Kind {
    if (Object.hasOwn(scope, name)) return scope[name]!;
    if (TYPE_NAMES.has(name)) return 'type';
    return this.problem(expression, `there is no "${name}"; everything is below "event"`);
  }

  #field(expression: Expression, kind: Kind, field: string): Kind {
    if (kind === 'dyn' || kind === 'map') return 'dyn';
    if (typeof kind === 'string') return this.problem(expression, `${told(kind)} has no field "${field}"`);
    if (Object.hasOwn(kind.fields, field)) return kind.fields[field]!;
    const known = Object.keys(kind.fields).filter((name) => name !== 'data');
    return this.problem(expression, `${kind.name} has no field "${field}"; it has ${known.join(', ')}`);
  }

  #call(expression: Expression, name: string, on: Kind | undefined, kinds: Kind[], args: Expression[]): Kind {
    if (LOGIC.has(name) || name === '!_') {
      for (const [at, kind] of kinds.entries())
        if (kind !== 'bool' && kind !== 'dyn')
          this.problem(args[at]!, `${told(kind)} stands where true or false must`);
      return 'bool';
    }
    if (name === '@not_strictly_false') return 'bool';
    if (name === '_?_:_') {
      const [condition, first, second] = kinds as [Kind, Kind, Kind];
      if (condition !== 'bool' && condition !== 'dyn')
        this.problem(args[0]!, `${told(condition)} stands where true or false must`);
      return first === second ? first : 'dyn';
    }
    if (name === '_[_]') {
      const [of] = kinds as [Kind, Kind];
      if (typeof of === 'string' && !['dyn', 'list', 'map'].includes(of))
        return this.problem(expression, `${told(of)} has nothing within it`);
      return 'dyn';
    }
    if (EQUAL.has(name)) {
      const [one, two] = kinds as [Kind, Kind];
      if (!canBeEqual(one, two)) this.problem(expression, `${told(one)} and ${told(two)} are never equal`);
      return 'bool';
    }
    // In proportion to the text, however long that is.
    if (name === 'matches') this.loops = true;
    const group = environment().funcs.find(name);
    if (!group) return this.problem(expression, `there is no function "${name}"`);
    const given = [...(on === undefined ? [] : [on]), ...kinds];
    const tried = given.map(sampleOf);
    if (tried.includes(undefined)) return RESULTS[name] ?? 'dyn';
    const [target, rest] = on === undefined ? [undefined, tried] : [tried[0], tried.slice(1)];
    const came = group.call(1, target as never, rest as never);
    if (came === undefined || (cel().isCelError(came) && /no matching overload/.test(came.message)))
      return this.problem(expression, `${nameOf(name)} does not take ${given.map(told).join(' and ')}`);
    return RESULTS[name] ?? kindOfValue(came);
  }
}

const CONSTANTS: Record<string, Plain> = {
  nullValue: 'null',
  boolValue: 'bool',
  int64Value: 'int',
  uint64Value: 'uint',
  doubleValue: 'double',
  stringValue: 'string',
  bytesValue: 'bytes',
};

function sampleOf(kind: Kind): unknown {
  return typeof kind === 'string' ? samples()[kind] : samples().map;
}

function kindOfValue(value: unknown): Plain {
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'string' ? 'string' : 'dyn';
}

function canBeEqual(one: Kind, two: Kind): boolean {
  if (one === two || one === 'dyn' || two === 'dyn' || one === 'null' || two === 'null') return true;
  if (NUMBERS.has(one) && NUMBERS.has(two)) return true;
  const [first, second] = [one, two].map((kind) => (typeof kind === 'string' ? kind : 'map'));
  return first === second;
}

const WORDS: Partial<Record<Plain, string>> = {
  bool: 'true or false',
  int: 'a whole number',
  uint: 'a whole number',
  double: 'a number',
  string: 'a text',
  bytes: 'bytes',
  list: 'a list',
  map: 'a map',
  null: 'null',
  type: 'a type',
  timestamp: 'a time',
  duration: 'a length of time',
};

function told(kind: Kind): string {
  return typeof kind === 'string' ? (WORDS[kind] ?? 'anything') : kind.name;
}

/** As people write it: `_+_` is `+`. */
function nameOf(name: string): string {
  return name === '@in' ? '"in"' : `"${name.replaceAll('_', '')}"`;
}
