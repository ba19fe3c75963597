// The random number of a step, from the request's seed: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011), as the engine draws it.

const mask = 0xffffffffn;

function round([a, b, c, d]: [bigint, bigint, bigint, bigint], low: bigint, high: bigint): [bigint, bigint, bigint, bigint] {
  const first = 0xd2511f53n * a;
  const second = 0xcd9e8d57n * c;
  return [(second >> 32n) ^ b ^ low, second & mask, (first >> 32n) ^ d ^ high, first & mask];
}

/** In [0, 1). Null where the seed is none, or more than a number holds exactly. */
export function uniformOf(seed: unknown, step: number): number | null {
  if (typeof seed !== "number" || !Number.isSafeInteger(seed) || seed < 0) return null;
  let counter: [bigint, bigint, bigint, bigint] = [BigInt(step), 0n, 0n, 0n];
  let low = BigInt(seed) & mask;
  let high = BigInt(seed) >> 32n;
  for (let idx = 0; idx < 10; ++idx) {
    counter = round(counter, low, high);
    low = (low + 0x9e3779b9n) & mask;
    high = (high + 0xbb67ae85n) & mask;
  }
  return Number(((counter[0] << 32n) | counter[1]) >> 11n) * 2 ** -53;
}
