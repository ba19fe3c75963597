// The logits of one step, sorted as a sampler prefers them: logit descending, then id ascending.

/** 20 bits hold an id, 32 a logit: both together are a whole number that a double holds exactly. */
const idRange = 2 ** 20;
const fewPlaces = 1024; // are sorted whenever they are needed

/** The bits of a float as a number that orders as the float does. */
function orderOf(bits: number): number {
  return bits >>> 31 ? 0xffffffff - bits : bits + 0x80000000;
}

function sortedIds(row: Float32Array): Uint32Array {
  if (row.length > idRange) throw new Error(`logits: ${row.length} are more than ${idRange}`);
  const bits = new Uint32Array(row.buffer, row.byteOffset, row.length);
  const keys = Float64Array.from(bits, (value, id) => (0xffffffff - orderOf(value)) * idRange + id);
  keys.sort();
  return Uint32Array.from(keys, (key) => key % idRange);
}

function logSumExp(sorted: Float32Array): number {
  const peak = sorted[0]!;
  let sum = 0;
  for (let place = 0; place < sorted.length; ++place) sum += Math.exp(sorted[place]! - peak);
  return peak + Math.log(sum);
}

function inverse(permutation: Uint32Array): Uint32Array {
  const result = new Uint32Array(permutation.length);
  for (let place = 0; place < permutation.length; ++place) result[permutation[place]!] = place;
  return result;
}

export class Logits {
  private places: Uint32Array | null = null; // into ids, by id ascending

  /** Of the whole vocabulary, by id. */
  static whole(row: Float32Array): Logits {
    const ids = sortedIds(row);
    const sorted = Float32Array.from(ids, (id) => row[id]!);
    return new Logits(ids, sorted, logSumExp(sorted), row.length);
  }

  /** The largest ones alone, already sorted, and what all of them sum to. */
  static largest(ids: number[], logits: number[], logSum: number, vocabSize: number): Logits {
    return new Logits(Uint32Array.from(ids), Float32Array.from(logits), logSum, vocabSize);
  }

  private constructor(readonly ids: Uint32Array, readonly values: Float32Array, readonly logSum: number, readonly vocabSize: number) {}

  get isWhole(): boolean {
    return this.ids.length === this.vocabSize;
  }

  /** As the model gave it, before the sampler. */
  probability(place: number): number {
    return Math.exp(this.values[place]! - this.logSum);
  }

  placeOf(id: number): number {
    return this.ids.indexOf(id);
  }

  /** Places, their ids ascending: the order in which the engine draws. Of the first `count` at least; others may be among them. */
  inOrderOfId(count: number): Uint32Array {
    if (count < fewPlaces) return Uint32Array.from([...this.ids.subarray(0, count).keys()].sort((a, b) => this.ids[a]! - this.ids[b]!));
    this.places ??= this.isWhole ? inverse(this.ids) : Uint32Array.from([...this.ids.keys()].sort((a, b) => this.ids[a]! - this.ids[b]!));
    return this.places;
  }
}
