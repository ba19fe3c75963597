/** Two runs of tokens beside each other: the same in both, or in one of them alone. */
export interface Pair {
  a: number | null; // index into the first
  b: number | null;
}

const mostCells = 4e6;

/** A longest common subsequence; where the table for it would be too large, what is the same at the beginning and the rest side by side. */
export function align(a: number[], b: number[]): Pair[] {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) ++same;
  const start = Array.from({ length: same }, (_, idx): Pair => ({ a: idx, b: idx }));
  const [restA, restB] = [a.slice(same), b.slice(same)];
  const rest = restA.length * restB.length > mostCells ? sideBySide(restA.length, restB.length) : common(restA, restB);
  return [...start, ...rest.map((pair) => ({ a: pair.a === null ? null : pair.a + same, b: pair.b === null ? null : pair.b + same }))];
}

function sideBySide(numA: number, numB: number): Pair[] {
  return Array.from({ length: Math.max(numA, numB) }, (_, idx) => ({ a: idx < numA ? idx : null, b: idx < numB ? idx : null }));
}

function common(a: number[], b: number[]): Pair[] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width); // of what is left of both
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j)
      lengths[i * width + j] = a[i] === b[j] ? lengths[(i + 1) * width + j + 1]! + 1 : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
  }
  return paired(walk(a, b, lengths, width), a, b);
}

function walk(a: number[], b: number[], lengths: Uint16Array, width: number): Pair[] {
  const pairs: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) pairs.push({ a: i++, b: j++ });
    else if (j >= b.length || (i < a.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) pairs.push({ a: i++, b: null });
    else pairs.push({ a: null, b: j++ });
  }
  return pairs;
}

/** Neighbours of which one is in the first alone and one in the second stand beside each other. */
function paired(pairs: Pair[], a: number[], b: number[]): Pair[] {
  const result: Pair[] = [];
  let [onlyA, onlyB]: [number[], number[]] = [[], []];
  const flush = (): void => {
    for (let idx = 0; idx < Math.max(onlyA.length, onlyB.length); ++idx) result.push({ a: onlyA[idx] ?? null, b: onlyB[idx] ?? null });
    [onlyA, onlyB] = [[], []];
  };
  for (const pair of pairs) {
    if (pair.a !== null && pair.b !== null && a[pair.a] === b[pair.b]) {
      flush();
      result.push(pair);
    } else if (pair.a !== null) onlyA.push(pair.a);
    else if (pair.b !== null) onlyB.push(pair.b);
  }
  flush();
  return result;
}
