import type { Logits } from "./logits";

// The engine's truncations over stored logits, in its order: temperature, top-k, top-p, min-p. Each keeps the first so
// many candidates, since all of them prefer the more probable.

export interface SamplerValues {
  temperature: number;
  top_k: number; // 0: off
  top_p: number;
  min_p: number;
}

export const samplerNames = ["temperature", "top_k", "top_p", "min_p"] as const;
export type SamplerName = (typeof samplerNames)[number];

const greedyTemperature = 1e-3; // below it the engine takes the most probable token

export interface Distribution {
  survivors: Record<SamplerName, number>; // after that link of the chain
  count: number; // survivors of them all
  probabilities: Float64Array; // [count], or as many as are at hand
  entropyBits: number;
  /** The first link after which the candidate at a place is gone. */
  cutBy(place: number): SamplerName | null;
}

export interface Draw {
  place: number;
  interval: [number, number];
}

export function distribution(logits: Logits, values: SamplerValues): Distribution {
  const total = logits.vocabSize;
  if (values.temperature < greedyTemperature) return finish({ temperature: 1, top_k: 1, top_p: 1, min_p: 1 }, Float64Array.of(1));
  const weights = weightsOf(logits, Math.fround(values.temperature));
  const afterK = values.top_k > 0 ? Math.min(values.top_k, total) : total;
  const afterP = values.top_p < 1 ? nucleus(weights, afterK, Math.fround(values.top_p)) : afterK;
  const afterM = values.min_p > 0 ? aboveFloor(weights, afterP, Math.fround(values.min_p)) : afterP;
  return finish({ temperature: total, top_k: afterK, top_p: afterP, min_p: afterM }, normalised(weights, afterM));
}

/** Of each candidate at hand, proportional to its probability; and of all those that are not, together. */
interface Weights {
  held: Float64Array;
  rest: number;
}

/** The engine's quotient is a float. What isn't at hand is known at temperature 1 alone. */
function weightsOf({ values, logSum, isWhole }: Logits, temperature: number): Weights {
  const peak = Math.fround(values[0]! / temperature);
  const held = new Float64Array(values.length);
  for (let place = 0; place < held.length; ++place) held[place] = Math.exp(Math.fround(values[place]! / temperature) - peak);
  const rest = isWhole || temperature !== 1 ? 0 : Math.max(0, Math.exp(logSum - peak) - sumOf(held));
  return { held, rest };
}

function sumOf(weights: Float64Array): number {
  let sum = 0;
  for (let place = 0; place < weights.length; ++place) sum += weights[place]!;
  return sum;
}

const sumOfFirst = ({ held, rest }: Weights, count: number): number => sumOf(held.subarray(0, count)) + (count > held.length ? rest : 0);

/** The shortest beginning of the first `count` whose share of them reaches `mass`. */
function nucleus(weights: Weights, count: number, mass: number): number {
  const wanted = mass * sumOfFirst(weights, count);
  const limit = Math.min(count, weights.held.length);
  let sum = 0;
  for (let place = 0; place < limit; ++place) {
    sum += weights.held[place]!;
    if (sum >= wanted) return place + 1;
  }
  return count;
}

function aboveFloor({ held }: Weights, count: number, floor: number): number {
  const lowest = floor * held[0]!;
  const limit = Math.min(count, held.length);
  for (let place = 1; place < limit; ++place) if (held[place]! < lowest) return place;
  return count;
}

function normalised(weights: Weights, count: number): Float64Array {
  const sum = sumOfFirst(weights, count);
  const shares = weights.held.slice(0, count);
  for (let place = 0; place < shares.length; ++place) shares[place]! /= sum;
  return shares;
}

function finish(survivors: Record<SamplerName, number>, probabilities: Float64Array): Distribution {
  let entropyBits = 0;
  for (let place = 0; place < probabilities.length; ++place) {
    const probability = probabilities[place]!;
    if (probability > 0) entropyBits -= probability * Math.log2(probability);
  }
  const cutBy = (place: number): SamplerName | null => samplerNames.find((name) => place >= survivors[name]) ?? null;
  return { survivors, count: survivors.min_p, probabilities, entropyBits, cutBy };
}

/** Whose share `uniform` falls in: shares lie one after the other by id. */
export function draw(logits: Logits, { probabilities }: Distribution, uniform: number): Draw {
  const places = logits.inOrderOfId(probabilities.length);
  let before = 0;
  let last = 0;
  let low = 0;
  for (let idx = 0; idx < places.length; ++idx) {
    const share = probabilities[places[idx]!] ?? 0;
    if (share === 0) continue;
    [last, low] = [places[idx]!, before];
    before += share;
    if (before > uniform) break;
  }
  return { place: last, interval: [low, low + probabilities[last]!] };
}
