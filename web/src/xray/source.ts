import { bytes, call } from "../api";
import type { LensCell, LensWindow, XrayDocument } from "./document";
import { Logits } from "./logits";

// Where a page has an X-ray's parts from: the server, part by part, or a file that holds them.

/** Thrown for a part that this source doesn't have. */
export class MissingPart extends Error {}

/** Weights of one layer: of each head a lower triangle, row by row. */
export interface AttentionWeights {
  numHeads: number;
  numPositions: number;
  at(head: number, query: number, key: number): number;
}

export interface XraySource {
  readonly document: XrayDocument;
  /** The logits of a step where they are at hand, so that what shows them needs no wait. */
  heldLogits(step: number): Logits | null;
  logits(step: number): Promise<Logits>;
  /** One column a position: what each layer would have said, the embedding first. Positions beyond are left out. */
  lens(first: number, count: number): Promise<LensCell[][]>;
  /** The positions that lens() has. */
  lensRange(): { first: number; count: number };
  attention(layer: number): Promise<AttentionWeights>;
  /** Layers whose weights there are. */
  attentionLayers(): number[];
  /** Bytes of a layer's weights that are still to be fetched. */
  attentionBytes(layer: number): number;
}

/** Keeps the values that were used last. */
export class Recent<Key, Value> {
  private readonly values = new Map<Key, Value>();

  constructor(private readonly most: number) {}

  get(key: Key): Value | undefined {
    const value = this.values.get(key);
    if (value !== undefined) {
      this.values.delete(key);
      this.values.set(key, value);
    }
    return value;
  }

  set(key: Key, value: Value): Value {
    this.values.set(key, value);
    for (const oldest of this.values.keys()) {
      if (this.values.size <= this.most) break;
      this.values.delete(oldest);
    }
    return value;
  }

  keys(): Key[] {
    return [...this.values.keys()];
  }
}

export const triangle = (numPositions: number): number => (numPositions * (numPositions + 1)) / 2;

const lensChunk = 32; // the most that the server gives at once
const mostLogits = 8;
const mostLayers = 4;
const mostBytes = 60e6; // of weights in one answer

export class ServerSource implements XraySource {
  private readonly path: string;
  private readonly steps = new Recent<number, Logits>(mostLogits);
  private readonly windows = new Recent<number, Promise<LensWindow>>(64);
  private readonly layers = new Recent<number, Promise<AttentionWeights>>(mostLayers);

  static async open(id: string): Promise<ServerSource> {
    const path = `/v1/requests/${encodeURIComponent(id)}/xray`;
    return new ServerSource(await call<XrayDocument>("GET", path), path);
  }

  private constructor(readonly document: XrayDocument, path: string) {
    this.path = path;
  }

  heldLogits(step: number): Logits | null {
    return this.steps.get(step) ?? null;
  }

  async logits(step: number): Promise<Logits> {
    const held = this.steps.get(step);
    if (held) return held;
    const row = new Float32Array(await bytes(`${this.path}/logits?step=${step}`));
    return this.steps.set(step, Logits.whole(row));
  }

  async lens(first: number, count: number): Promise<LensCell[][]> {
    const columns: LensCell[][] = [];
    const numPositions = this.document.tokens.length - 1;
    for (let position = first; position < Math.min(first + count, numPositions); ++position) {
      const window = await this.window(Math.floor(position / lensChunk), numPositions);
      columns.push(window.layers.map((row) => row[position - window.first]!));
    }
    return columns;
  }

  lensRange(): { first: number; count: number } {
    return { first: 0, count: this.document.tokens.length - 1 };
  }

  attention(layer: number): Promise<AttentionWeights> {
    return this.layers.get(layer) ?? this.layers.set(layer, this.fetchAttention(layer));
  }

  attentionBytes(layer: number): number {
    if (this.layers.get(layer)) return 0;
    return 4 * this.document.shape.num_heads * triangle(this.document.tokens.length - 1);
  }

  attentionLayers(): number[] {
    return [...Array(this.document.shape.num_layers).keys()];
  }

  private window(chunk: number, numPositions: number): Promise<LensWindow> {
    const first = chunk * lensChunk;
    const count = Math.min(lensChunk, numPositions - first);
    return this.windows.get(chunk) ?? this.windows.set(chunk, call<LensWindow>("GET", `${this.path}/lens?first=${first}&count=${count}`));
  }

  /** What is too large for one answer comes head by head. */
  private async fetchWeights(layer: number, numHeads: number): Promise<Float32Array> {
    const path = `${this.path}/attention?layer=${layer}`;
    if (this.attentionBytes(layer) < mostBytes) return new Float32Array(await bytes(path));
    const size = triangle(this.document.tokens.length - 1);
    const all = new Float32Array(numHeads * size);
    for (let head = 0; head < numHeads; ++head) all.set(new Float32Array(await bytes(`${path}&head=${head}`)), head * size);
    return all;
  }

  private async fetchAttention(layer: number): Promise<AttentionWeights> {
    const numHeads = this.document.shape.num_heads;
    const weights = await this.fetchWeights(layer, numHeads);
    const numPositions = positionsOf(weights.length / numHeads);
    const size = triangle(numPositions);
    return { numHeads, numPositions, at: (head, query, key) => weights[head * size + triangle(query) + key]! };
  }
}

/** How many rows a triangle of so many numbers has. */
export function positionsOf(size: number): number {
  const rows = Math.round((Math.sqrt(8 * size + 1) - 1) / 2);
  if (triangle(rows) !== size) throw new Error(`attention: ${size} weights a head are no triangle`);
  return rows;
}
