import { fill, h, styled } from "../dom";
import { num, t } from "../i18n";
import { cellBar, muted, percent, plate } from "./figures";
import { heat } from "./heat";
import { tokenText } from "./pieces_of_text";
import { arrows, whenSeen, type Plate, type Scene } from "./scene";
import { MissingPart, type AttentionWeights } from "./source";

const askAboveBytes = 64e6;
const mapPixels = 1024;
const thumbPixels = 128;
const shownKeys = 6;

/** Plate 5: where each position looked, by layer and head. */
export class AttentionPlate implements Plate {
  readonly element: HTMLElement;
  private readonly map = h("canvas", { id: "map", role: "img", tabindex: 0 });
  private readonly rowMark = h("i", { class: "rowmark" });
  private readonly heads = h("div", { class: "heads", role: "group", "aria-label": t("xray.attention.heads") });
  private readonly row = h("table", { id: "rowtop" });
  private readonly note = h("div", { "aria-live": "polite" });
  private readonly layerChoice = h("select", { id: "ly" });
  private readonly parts: HTMLElement;
  private weights: AttentionWeights | null = null;
  private layer: number;
  private head = 0;
  private isSeen = false;

  constructor(private readonly scene: Scene) {
    const { shape } = scene.doc;
    const layers = scene.source.attentionLayers();
    const middle = Math.floor(shape.num_layers / 2);
    this.layer = layers.includes(middle) ? middle : (layers[0] ?? 0);
    fill(this.layerChoice, ...layers.map((layer) => h("option", { value: layer, selected: layer === this.layer }, layer)));
    const group = shape.num_heads / shape.num_kv_heads;
    styled(this.heads, { "--group": String(group === 1 ? 4 : group) });
    const shared = group === 1 ? t("xray.attention.own", { heads: num(shape.num_heads) }) : t("xray.attention.shared", { heads: num(shape.num_heads), group: num(group) });
    this.parts = h("div", { class: "att" }, h("div", { class: "mapbox" }, this.map, this.rowMark), h("div", {}, this.heads, h("p", { class: "xs mut shared" }, shared), this.row));
    this.element = plate(5, "p5", t("xray.attention"), t("xray.attention.hint"), h("span", { class: "end" }, h("label", { class: "sm mut", for: "ly" }, t("xray.attention.layer")), this.layerChoice), this.note, this.parts);
    this.listen();
    whenSeen(this.element, () => {
      this.isSeen = true;
      void this.load();
    });
  }

  figure(): string {
    const { num_heads, num_kv_heads } = this.scene.doc.shape;
    return `${num(num_heads)} / ${num(num_kv_heads)}`;
  }

  private listen(): void {
    this.scene.addEventListener("move", () => this.showRow());
    this.layerChoice.addEventListener("change", () => {
      this.layer = Number(this.layerChoice.value);
      void this.load();
    });
    this.heads.addEventListener("click", (event) => {
      const button = (event.target as Element).closest<HTMLElement>("button[data-head]");
      if (button) this.choose(Number(button.dataset["head"]));
    });
    const group = Number(this.heads.style.getPropertyValue("--group"));
    arrows(this.heads, { x: 1, y: group }, (step) => this.choose(this.head + step), (last) => this.choose(last ? this.scene.doc.shape.num_heads - 1 : 0));
    arrows(this.map, { x: 1, y: 1 }, (step) => this.scene.moveTo(this.query() + step), (last) => this.scene.moveTo(last ? this.scene.doc.tokens.length - 1 : 0));
    this.map.addEventListener("click", (event) => {
      const { top, height } = this.map.getBoundingClientRect();
      if (this.weights) this.scene.moveTo(Math.floor((this.weights.numPositions * (event.clientY - top)) / height));
    });
    addEventListener("themechange", () => this.paint());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
  }

  private choose(head: number): void {
    this.head = Math.max(0, Math.min(this.scene.doc.shape.num_heads - 1, head));
    this.paint();
    this.heads.querySelector<HTMLElement>(`[data-head="${this.head}"]`)?.focus({ preventScroll: true });
  }

  private async load(isAsked = false): Promise<void> {
    if (!this.isSeen) return;
    const size = this.scene.source.attentionBytes(this.layer);
    if (size > askAboveBytes && !isAsked) return this.offer(size);
    const { layer } = this;
    try {
      const weights = await this.scene.source.attention(layer);
      if (layer !== this.layer) return;
      this.weights = weights;
      fill(this.note);
      this.paint();
    } catch (error) {
      this.fail(error, layer);
    }
  }

  private fail(error: unknown, layer: number): void {
    if (layer !== this.layer) return;
    this.weights = null;
    this.parts.hidden = true;
    fill(this.note, error instanceof MissingPart ? muted(error.message) : h("p", { class: "note bad", role: "alert" }, error instanceof Error ? error.message : String(error)));
  }

  private offer(size: number): void {
    fill(this.note, h("p", { class: "note" }, t("xray.attention.large", { mb: num(size / 1e6) }), " ", h("button", { onclick: () => void this.load(true) }, t("xray.attention.fetch"))));
  }

  private paint(): void {
    const { weights } = this;
    this.parts.hidden = weights === null;
    if (!weights) return;
    const buttons = Array.from({ length: weights.numHeads }, (_, head) => {
      const canvas = h("canvas");
      paintHead(canvas, weights, head, thumbPixels);
      const button = h("button", { type: "button", "aria-pressed": String(head === this.head), tabindex: head === this.head ? 0 : -1, "aria-label": t("xray.attention.head", { head }) }, canvas, String(head));
      button.dataset["head"] = String(head);
      return button;
    });
    fill(this.heads, ...buttons);
    paintHead(this.map, weights, this.head, mapPixels);
    this.showRow();
  }

  /** The position under the cursor; the last token of all was never computed. */
  private query(): number {
    return Math.min(this.scene.position, (this.weights?.numPositions ?? 1) - 1);
  }

  private showRow(): void {
    const { weights } = this;
    if (!weights) return;
    const query = this.query();
    const { tokens } = this.scene.doc;
    const keys = Array.from({ length: query + 1 }, (_, key) => ({ key, weight: weights.at(this.head, query, key) })).sort((a, b) => b.weight - a.weight).slice(0, shownKeys);
    styled(this.rowMark, { top: `${(100 * query) / weights.numPositions}%`, width: `${(100 * (query + 1)) / weights.numPositions}%`, height: `${100 / weights.numPositions}%` });
    fill(this.row, h("thead", {}, h("tr", {}, h("th", { colspan: 3 }, h("span", { class: "mono" }, query, " ", ...tokenText(tokens[query]!)), " ", t("xray.attention.looks")))),
      h("tbody", {}, ...keys.map(({ key, weight }) => h("tr", {}, h("td", { class: "mono" }, h("span", { class: "mut" }, key, " "), ...tokenText(tokens[key]!)), h("td", { class: "b" }, cellBar(weight)), h("td", { class: "n" }, percent(weight, 0))))));
    this.map.setAttribute("aria-label", t("xray.attention.label", { layer: this.layer, head: this.head, query, keys: keys.map(({ key, weight }) => `${key} ${percent(weight, 0)}`).join(", ") }));
  }
}

/** A pixel a weight; where there are more than `most` positions, a pixel the largest of several. */
function paintHead(canvas: HTMLCanvasElement, weights: AttentionWeights, head: number, most: number): void {
  const { numPositions } = weights;
  const each = Math.ceil(numPositions / most);
  const size = Math.ceil(numPositions / each);
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(size, size);
  const largest = new Float32Array(size * size);
  for (let query = 0; query < numPositions; ++query) {
    const row = Math.floor(query / each) * size;
    for (let key = 0; key <= query; ++key) {
      const cell = row + Math.floor(key / each);
      largest[cell] = Math.max(largest[cell]!, weights.at(head, query, key));
    }
  }
  const { steps } = heat();
  largest.forEach((weight, cell) => {
    const step = 3 * Math.round(255 * Math.sqrt(Math.min(1, weight)));
    image.data.set([steps[step]!, steps[step + 1]!, steps[step + 2]!, 255], 4 * cell);
  });
  context.putImageData(image, 0, 0);
}
