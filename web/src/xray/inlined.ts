import { t } from "../i18n";
import type { LensCell, LensWindow, XrayDocument } from "./document";
import { Logits } from "./logits";
import { MissingPart, positionsOf, triangle, type AttentionWeights, type XraySource } from "./source";

/** An X-ray in a file of its own. Each part beside the document may be left out. docs/pages.md describes it. */
export interface InlinedXray {
  xray: XrayDocument;
  logits?: { top: InlinedLogits[] }; // one a step, the most probable candidates
  lens?: LensWindow;
  attention?: Record<string, string>; // by layer, base64 of a byte a weight: 255 times its square root, by head and row
}

export interface InlinedLogits {
  ids: number[];
  logits: number[];
  log_sum_exp: number;
}

export class InlinedSource implements XraySource {
  readonly document: XrayDocument;
  private readonly steps = new Map<number, Logits>();

  constructor(private readonly data: InlinedXray) {
    this.document = data.xray;
  }

  heldLogits(step: number): Logits | null {
    const held = this.steps.get(step);
    if (held) return held;
    const top = this.data.logits?.top[step];
    if (!top) return null;
    const logits = Logits.largest(top.ids, top.logits, top.log_sum_exp, this.document.shape.vocab_size);
    this.steps.set(step, logits);
    return logits;
  }

  async logits(step: number): Promise<Logits> {
    const logits = this.heldLogits(step);
    if (!logits) throw new MissingPart(t("xray.file.logits"));
    return logits;
  }

  async lens(first: number, count: number): Promise<LensCell[][]> {
    const lens = this.data.lens;
    if (!lens) throw new MissingPart(t("xray.file.lens"));
    const columns: LensCell[][] = [];
    for (let position = Math.max(first, lens.first); position < Math.min(first + count, lens.first + lens.count); ++position)
      columns.push(lens.layers.map((row) => row[position - lens.first]!));
    return columns;
  }

  lensRange(): { first: number; count: number } {
    return { first: this.data.lens?.first ?? 0, count: this.data.lens?.count ?? this.document.tokens.length - 1 };
  }

  async attention(layer: number): Promise<AttentionWeights> {
    const coded = this.data.attention?.[layer];
    if (coded === undefined) throw new MissingPart(this.missingLayers());
    const roots = Uint8Array.from(atob(coded), (character) => character.charCodeAt(0));
    const numHeads = this.document.shape.num_heads;
    const numPositions = positionsOf(roots.length / numHeads);
    const size = triangle(numPositions);
    return { numHeads, numPositions, at: (head, query, key) => (roots[head * size + triangle(query) + key]! / 255) ** 2 };
  }

  attentionBytes(): number {
    return 0;
  }

  attentionLayers(): number[] {
    return Object.keys(this.data.attention ?? {}).map(Number);
  }

  private missingLayers(): string {
    const layers = this.attentionLayers();
    return layers.length === 0 ? t("xray.file.attention") : t("xray.file.attention.part", { layers: layers.join(", ") });
  }
}
