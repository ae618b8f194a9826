/**
 * Of many ids, whether one may be among them: 16 to 32 bytes for each, where a Set of strings takes some hundred. Of an id its last
 * twelve digits count, which are random in a uuid, so that of a million ids one in 280 million others is taken for one of them.
 */
export class IdSet {
  /** A power of two; 0 where a place is free. */
  #places = new Float64Array(1_024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(id: string): boolean {
    const number = numberOf(id);
    return this.#places[placeOf(this.#places, number)] === number;
  }

  add(id: string): void {
    const number = numberOf(id);
    const place = placeOf(this.#places, number);
    if (this.#places[place] === number) return;
    this.#places[place] = number;
    this.#size++;
    if (this.#size * 2 > this.#places.length) this.#grow();
  }

  #grow(): void {
    const places = new Float64Array(this.#places.length * 2);
    for (const number of this.#places) if (number !== 0) places[placeOf(places, number)] = number;
    this.#places = places;
  }
}

/** Where it is, or would be. At least half of the places are free, so there is an end. */
function placeOf(places: Float64Array, number: number): number {
  let place = number % places.length;
  while (places[place] !== 0 && places[place] !== number) place = (place + 1) % places.length;
  return place;
}

function numberOf(id: string): number {
  return Number.parseInt(id.slice(-12), 16) + 1;
}
