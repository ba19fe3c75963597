import { num } from "../i18n";
import type { Step, XrayDocument } from "./document";
import type { Logits } from "./logits";
import { uniformOf } from "./philox";
import { distribution, draw, samplerNames, type SamplerValues } from "./sampler";

// What the sampler's plate shows of a step: as the request had it, or computed from its logits with other values.

const shownRows = 16;

export interface ShownRow {
  id: number;
  piece: string | null; // null: not known here
  logit: number;
  before: number;
  after: number; // 0: cut
  cutBy: string | null;
  isWinner: boolean;
}

export interface Shown {
  links: [string, string][]; // name and survivors, in the order of the chain
  rows: ShownRow[];
  others: { count: number; before: number; after: number };
  numKept: number;
  uniform: number | null;
  winner: { id: number; piece: string | null; interval: [number, number] | null } | null;
}

const valueText = (name: string, value: number | null | undefined): string => (value === null || value === undefined ? name : `${name} ${num(value, name === "top_k" ? 0 : 2)}`);
const bits = (entropy: number): string => `${num(entropy, 2)} bit`;
const uText = (uniform: number | null): string => (uniform === null ? "–" : num(uniform, 4));

export function recorded(step: Step, { shape }: XrayDocument): Shown {
  const kept = step.chain.at(-1)?.survivors ?? shape.vocab_size;
  const own = step.candidates.find(({ id }) => id === step.id);
  const listed = [...step.candidates.slice(0, shownRows), ...step.candidates.slice(shownRows).filter(({ id }) => id === step.id)];
  const rows = listed.map((one) => ({ id: one.id, piece: one.piece, logit: one.logit, before: one.probability, after: one.after, cutBy: one.cut_by, isWinner: one.id === step.id }));
  return {
    links: [["logits", num(shape.vocab_size)], ...step.chain.map(({ name, value, survivors }): [string, string] => [valueText(name, value), num(survivors)]), ["entropy", bits(step.entropy_bits)], ["draw u", uText(step.uniform)]],
    rows,
    others: rest(rows, shape.vocab_size, kept),
    numKept: kept,
    uniform: step.uniform,
    winner: { id: step.id, piece: own?.piece ?? null, interval: step.interval },
  };
}

export function computed(step: Step, { shape, sampling }: XrayDocument, logits: Logits, values: SamplerValues): Shown {
  const result = distribution(logits, values);
  const isGreedy = result.count === 1;
  const uniform = step.uniform ?? uniformOf(sampling["seed"], step.step);
  const drawn = isGreedy ? { place: 0, interval: null } : uniform === null ? null : draw(logits, result, uniform);
  const pieces = new Map(step.candidates.map(({ id, piece }) => [id, piece]));
  const places = [...Array(Math.min(shownRows, logits.ids.length)).keys()];
  for (const place of [drawn?.place, logits.placeOf(step.id)]) if (place !== undefined && place >= shownRows && !places.includes(place)) places.push(place);
  const rows = places.map((place): ShownRow => {
    const id = logits.ids[place]!;
    return { id, piece: pieces.get(id) ?? null, logit: logits.values[place]!, before: logits.probability(place), after: result.probabilities[place] ?? 0, cutBy: result.cutBy(place), isWinner: place === drawn?.place };
  });
  const winner = drawn ? { id: logits.ids[drawn.place]!, piece: pieces.get(logits.ids[drawn.place]!) ?? null, interval: drawn.interval } : null;
  return {
    links: [["logits", num(shape.vocab_size)], ...samplerNames.map((name): [string, string] => [valueText(name, values[name]), num(result.survivors[name])]), ["entropy", bits(result.entropyBits)], ["draw u", uText(isGreedy ? null : uniform)]],
    rows,
    others: rest(rows, shape.vocab_size, result.count),
    numKept: result.count,
    uniform: isGreedy ? null : uniform,
    winner,
  };
}

function rest(rows: ShownRow[], all: number, kept: number): Shown["others"] {
  const sum = (of: (row: ShownRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const numKept = rows.filter((row) => row.after > 0).length;
  return { count: all - rows.length, before: Math.max(0, 1 - sum((row) => row.before)), after: kept > numKept ? Math.max(0, 1 - sum((row) => row.after)) : 0 };
}
