import { fill, h, styled } from "../dom";
import { num, t } from "../i18n";
import { muted, percent } from "./figures";
import type { LensCell } from "./document";
import { heat } from "./heat";
import { pieceLabel, pieceText, tokenText } from "./pieces_of_text";
import { arrows, whenSeen, type Plate, type Scene } from "./scene";
import { MissingPart } from "./source";

const columns = 12;

/** Plate 4: what each layer would have said, for the tokens around the cursor. A column bears the position that it foretells. */
export class LensPlate implements Plate {
  readonly element = h("div", { class: "plate4" });
  private readonly body = h("div", { class: "scroll" });
  private readonly hint = h("p", { class: "sm mut shape" });
  private first: number; // position foretold by the first column
  private shown: LensCell[][] = [];
  private isSeen = false;
  private layer: number;

  constructor(private readonly scene: Scene) {
    const { shape } = scene.doc;
    this.layer = shape.num_layers;
    this.first = this.windowAround(scene.position);
    const last = scene.doc.shapes.find(({ name }) => name === "last_hidden_state");
    fill(this.hint, h("span", { class: "mono" }, last ? `last_hidden_state [${last.shape.map((size) => num(size)).join(", ")}]` : ""));
    fill(this.element, h("header", {}, h("span", { class: "no" }, 4), h("h2", { id: "p4-title" }, t("xray.lens")), h("p", { class: "sm mut" }, t("xray.lens.hint"))), this.hint, this.partNote(), this.body);
    this.frame();
    scene.addEventListener("move", () => this.follow());
    addEventListener("themechange", () => this.show());
    arrows(this.body, { x: 1 }, (step) => this.go(this.column() + step, this.layer), (last) => this.go(this.first + (last ? this.shown.length - 1 : 0), this.layer));
    arrows(this.body, { x: 0, y: 1 }, (step) => this.go(this.column(), this.layer + step));
    this.body.addEventListener("click", (event) => this.clicked(event));
    whenSeen(this.element, () => {
      this.isSeen = true;
      void this.load();
    });
  }

  private partNote(): HTMLElement | null {
    const { first, count } = this.scene.source.lensRange();
    return count < this.scene.doc.tokens.length - 1 ? muted(t("xray.file.lens.part", { first: first + 1, last: first + count })) : null;
  }

  figure(): string {
    return `${num(this.scene.doc.shape.num_layers)} × ${num(Math.min(columns, this.scene.doc.tokens.length - 1))}`;
  }

  private windowAround(position: number): number {
    const { first, count } = this.scene.source.lensRange();
    const last = Math.max(first + 1, first + count - columns + 1);
    return Math.max(first + 1, Math.min(last, position - Math.floor(columns / 3)));
  }

  private follow(): void {
    const { position } = this.scene;
    const first = this.windowAround(position);
    if ((position >= this.first && position < this.first + columns) || first === this.first) return this.show();
    this.first = first;
    if (this.isSeen) void this.load();
  }

  private async load(): Promise<void> {
    const { first } = this;
    try {
      const cells = await this.scene.source.lens(first - 1, columns);
      if (first !== this.first) return;
      this.shown = cells;
      this.show();
    } catch (error) {
      this.shown = [];
      if (first === this.first) fill(this.body, error instanceof MissingPart ? muted(error.message) : h("p", { class: "note bad" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** What holds the place of cells that are on their way. */
  private frame(): void {
    const rows = Array.from({ length: this.scene.doc.shape.num_layers + 1 }, () => h("tr", {}, h("td")));
    fill(this.body, h("table", { class: "dense lens", id: "lens" }, this.headRow(), h("tbody", {}, ...rows)));
  }

  private headRow(): HTMLElement {
    const { tokens } = this.scene.doc;
    const shown = Array.from({ length: Math.min(columns, Math.max(0, tokens.length - this.first)) }, (_, idx) => this.first + idx);
    return h("thead", {}, h("tr", {}, ...shown.map((position) => h("th", { class: position === this.scene.position ? "on" : null, scope: "col" }, h("small", {}, position), ...tokenText(tokens[position]!)))));
  }

  private show(): void {
    if (this.shown.length === 0) return;
    const hadFocus = this.body.contains(document.activeElement);
    const scale = heat();
    const numRows = this.shown[0]!.length;
    const rows = Array.from({ length: numRows }, (_, layer) => h("tr", {}, ...this.shown.map((column, idx) => this.cell(column[layer]!, layer, this.first + idx, scale))));
    fill(this.body, h("table", { class: "dense lens", id: "lens", "aria-label": t("xray.lens") }, this.headRow(), h("tbody", {}, ...rows)));
    if (hadFocus) this.body.querySelector<HTMLElement>('button[tabindex="0"]')?.focus({ preventScroll: true });
  }

  private cell(cell: LensCell, layer: number, position: number, scale: ReturnType<typeof heat>): HTMLElement {
    const isCurrent = position === this.column() && layer === this.layer;
    const where = layer === 0 ? t("xray.layers.embedding.long") : t("xray.lens.layer", { layer: layer - 1 });
    const label = `${where}: ${pieceLabel(cell.piece)} ${percent(cell.probability)}`;
    const button = h("button", { type: "button", tabindex: isCurrent ? 0 : -1, title: label, "aria-label": label }, ...pieceText(cell.piece));
    button.dataset["position"] = String(position);
    button.dataset["layer"] = String(layer);
    return h("td", { class: cell.is_final ? "hit" : null }, styled(button, { background: scale.text(cell.probability) }));
  }

  /** The column under the cursor, or the nearest: nothing foretold the first token. */
  private column(): number {
    return Math.max(this.first, Math.min(this.first + this.shown.length - 1, this.scene.position));
  }

  private clicked(event: MouseEvent): void {
    const button = (event.target as Element).closest<HTMLElement>("button[data-position]");
    if (button) this.go(Number(button.dataset["position"]), Number(button.dataset["layer"]));
  }

  private go(position: number, layer: number): void {
    this.layer = Math.max(0, Math.min(this.scene.doc.shape.num_layers, layer));
    if (position === this.scene.position) this.show();
    else this.scene.moveTo(position);
  }
}
