import { arrayLiteral } from './array.ts';

/** A database function that takes one array per column: the statement that calls it, and the values to send. */
export class Columns<Name extends string> {
  readonly text: string;
  readonly #names: Name[];
  readonly #columns = {} as Record<Name, unknown[]>;
  readonly #quoted: boolean[];
  readonly #documents: boolean[];

  /** `types`: the parameters in order. `result`: the name of the result column. */
  constructor(name: string, types: Record<Name, string>, result: string) {
    this.#names = Object.keys(types) as Name[];
    for (const column of this.#names) this.#columns[column] = [];
    const list = this.#names.map((column, index) => `$${index + 1}::${types[column]}`);
    this.text = `select ${name}(${list.join(', ')}) as ${result}`;
    // Numbers, ids and enum labels need no quotes in an array; text and JSON do.
    this.#quoted = this.#names.map((column) => /^(text|json)\[\]$/.test(types[column]));
    this.#documents = this.#names.map((column) => types[column] === 'jsonb');
  }

  /** The same lists for each call, emptied: to be filled and read by `values` before anything else happens. */
  empty(): Record<Name, unknown[]> {
    for (const name of this.#names) this.#columns[name].length = 0;
    return this.#columns;
  }

  /** Columns without a value are sent as null. `first` is the value of the first parameter. */
  values(first: unknown, columns: Record<Name, unknown[]>): unknown[] {
    const values = [first];
    for (let i = 1; i < this.#names.length; i++) {
      const column = columns[this.#names[i]!];
      if (isEmpty(column)) values.push(null);
      else if (this.#documents[i]) values.push(documentList(column));
      else values.push(arrayLiteral(column, this.#quoted[i]!));
    }
    return values;
  }
}

function isEmpty(column: unknown[]): boolean {
  for (const value of column) if (value !== null) return false;
  return true;
}

/** A JSON array of JSON texts; null stands for JSON's null. */
function documentList(texts: unknown[]): string {
  let list = '[';
  for (let i = 0; i < texts.length; i++) list += `${i > 0 ? ',' : ''}${texts[i]}`;
  return `${list}]`;
}
