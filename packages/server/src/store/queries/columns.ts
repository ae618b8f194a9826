import { arrayLiteral } from './array.ts';

/** A function of the database that takes one array per column: the statement that calls it, and what is sent. */
export class Columns<Name extends string> {
  readonly text: string;
  readonly #names: Name[];
  readonly #quoted: boolean[];
  readonly #documents: boolean[];

  /** `types`: the parameters in their order. `result`: how the statement calls what it answers. */
  constructor(name: string, types: Record<Name, string>, result: string) {
    this.#names = Object.keys(types) as Name[];
    const list = this.#names.map((column, index) => `$${index + 1}::${types[column]}`);
    this.text = `select ${name}(${list.join(', ')}) as ${result}`;
    // Numbers, ids and words of enums need no quotes in an array; text and JSON do.
    this.#quoted = this.#names.map((column) => types[column] === 'text[]' || types[column] === 'jsonb[]');
    this.#documents = this.#names.map((column) => types[column] === 'jsonb');
  }

  empty(): Record<Name, unknown[]> {
    const columns = {} as Record<Name, unknown[]>;
    for (const name of this.#names) columns[name] = [];
    return columns;
  }

  /** Columns of nothing are sent as null. `first` goes before all columns' values as it is. */
  values(first: unknown, columns: Record<Name, unknown[]>): unknown[] {
    const values = [first];
    for (let i = 1; i < this.#names.length; i++) {
      const column = columns[this.#names[i]!];
      if (isEmpty(column)) values.push(null);
      else if (this.#documents[i]) values.push(`[${column.join(',')}]`);
      else values.push(arrayLiteral(column, this.#quoted[i]!));
    }
    return values;
  }
}

function isEmpty(column: unknown[]): boolean {
  for (const value of column) if (value !== null) return false;
  return true;
}

/** 1, 2, 3 … */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** The database wrote nothing of the batch: one of its items needs to be looked at. */
export function isUndecided(error: unknown): boolean {
  return (error as { code?: string }).code === 'TR001';
}
