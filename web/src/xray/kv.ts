import { h, svg } from "../dom";
import { num, t } from "../i18n";
import { mega, plate, swatch } from "./figures";
import type { XrayDocument } from "./document";
import { stepTimes } from "./pieces";
import { arrows, type Plate, type Scene } from "./scene";

const mostBlocks = 256; // drawn slot by slot; more are counted

/** Plate 6: every slot of the blocks that hold this request's keys and values. */
export class KvPlate implements Plate {
  readonly element: HTMLElement;
  private readonly cells: HTMLElement[] = [];
  private readonly held: number;

  constructor(private readonly scene: Scene) {
    const { doc } = scene;
    const { kv, shape } = doc;
    this.held = kv.tokens_held;
    const generated = Math.max(0, kv.tokens_held - doc.prompt_tokens);
    const empty = kv.blocks.length * kv.block_tokens - kv.tokens_held;
    const shown = kv.blocks.slice(0, mostBlocks);
    const blocks = h("div", { class: "blocks", role: "group", "aria-label": t("xray.kv.map", { blocks: num(kv.blocks.length), held: num(kv.tokens_held) }) }, ...shown.map((block, idx) => this.block(block, idx)));
    const formula = t("xray.kv.hint", { bytes: num(kv.bytes_per_token), layers: num(shape.num_layers), heads: num(shape.num_kv_heads), dim: num(shape.head_dim), type: kv.type });
    this.element = plate(6, "p6", t("xray.kv"), formula, null, legend(doc, generated, empty), blocks,
      kv.blocks.length > mostBlocks ? h("p", { class: "mut sm" }, t("xray.kv.more", { count: num(kv.blocks.length - mostBlocks) })) : null, kvTable(doc), growth(doc), h("p", { class: "xs mut" }, t("xray.kv.growth", { mb: mega(kv.bytes_allocated, 2) })));
    blocks.addEventListener("click", (event) => {
      const place = this.cells.indexOf(event.target as HTMLElement);
      if (place >= 0 && place < this.held) scene.moveTo(place);
    });
    arrows(blocks, { x: 1, y: kv.block_tokens }, (step) => this.go(Math.min(scene.position, this.held - 1) + step), (last) => this.go(last ? this.held - 1 : 0));
    this.show();
    scene.addEventListener("move", () => this.show());
  }

  figure(): string {
    return `${mega(this.scene.doc.kv.bytes_held, 2)} MB`;
  }

  private go(position: number): void {
    this.scene.moveTo(Math.max(0, Math.min(this.held - 1, position)));
    this.cells[this.scene.position]?.focus({ preventScroll: true });
  }

  private block({ block, filled }: { block: number; filled: number }, idx: number): HTMLElement {
    const { kv } = this.scene.doc;
    const slots = Array.from({ length: kv.block_tokens }, (_, slot) => this.slot(idx * kv.block_tokens + slot, slot < filled));
    this.cells.push(...slots);
    const isShared = (idx + 1) * kv.block_tokens <= kv.cached_tokens;
    return h("div", { class: isShared ? "blk shared" : "blk" }, h("p", {}, h("span", { class: "num" }, t("xray.kv.block", { block })), h("span", { class: "num" }, `${filled} / ${kv.block_tokens}`)), h("div", { class: "cells" }, ...slots));
  }

  private slot(position: number, isFilled: boolean): HTMLElement {
    const { doc } = this.scene;
    const kind = !isFilled ? null : position < doc.kv.cached_tokens ? "c" : position < doc.prompt_tokens ? "p" : "d";
    const label = isFilled ? t("xray.kv.position", { position }) : t("xray.kv.empty");
    return isFilled ? h("button", { type: "button", class: kind, tabindex: -1, title: label, "aria-label": label }) : h("i", { title: label });
  }

  private show(): void {
    const current = Math.min(this.scene.position, this.held - 1);
    this.cells.forEach((cell, position) => {
      cell.classList.toggle("now", position === this.scene.position);
      if (position < this.held) cell.tabIndex = position === current ? 0 : -1;
    });
  }
}

function legend(doc: XrayDocument, generated: number, empty: number): HTMLElement {
  const { cached_tokens } = doc.kv;
  const item = (cls: string, color: string, text: string): HTMLElement => h("span", {}, swatch(cls, color), text);
  return h("p", { class: "key" }, item("", "var(--st-prefill)", t("xray.kv.prompt", { count: num(doc.prompt_tokens - cached_tokens) })),
    cached_tokens > 0 ? item("shared", "var(--se-2)", t("xray.kv.cached", { count: num(cached_tokens) })) : null,
    item("", "var(--st-decode)", t("xray.kv.generated", { count: num(generated) })), item("hol", "var(--ctl)", t("xray.kv.free", { count: num(empty) })));
}

function kvTable(doc: XrayDocument): HTMLElement {
  const { kv } = doc;
  const row = (name: string, product: string, right: string, cls: string): HTMLElement => h("tr", {}, h("td", {}, name), h("td", { class: "n" }, product), h("td", { class: cls }, right));
  return h("table", {}, h("tbody", {}, row(t("xray.kv.held"), `${num(kv.tokens_held)} × ${num(kv.bytes_per_token)}`, `${num(kv.bytes_held)} B`, "n"),
    row(t("xray.kv.blocks"), `${num(kv.blocks.length)} × ${num(kv.block_bytes)}`, `${num(kv.bytes_allocated)} B`, "n"),
    row(t("xray.kv.hit"), `${num(kv.cached_tokens)} / ${num(doc.prompt_tokens)}`, prefixReason(doc), "sm")));
}

/** In words: why no more of the prompt was there already. */
export function prefixReason({ kv }: XrayDocument): string {
  const prefix = kv.prefix;
  if (!prefix) return "";
  switch (prefix.reason) {
    case "all_full_blocks_cached":
      return t("xray.kv.reason.all", { tokens: num(kv.block_tokens) });
    case "token_differs":
      return t("xray.kv.reason.differs", { position: num(prefix.position ?? 0), here: prefix.requested_text ?? "", there: prefix.cached_text ?? "" });
    default:
      return t("xray.kv.reason.none");
  }
}

/** Bytes held and allocated, over the time of the request. */
function growth(doc: XrayDocument): SVGElement {
  const { kv, timeline } = doc;
  const times = stepTimes(doc);
  const y = (bytes: number): string => (62 - (58 * bytes) / Math.max(1, kv.bytes_allocated)).toFixed(2);
  const x = (at: number): string => ((100 * at) / timeline.wall_s).toFixed(3);
  const allocated = (tokens: number): number => Math.ceil(tokens / kv.block_tokens) * kv.block_bytes;
  const began = timeline.spans.find((span) => span.stage === "prefill")?.start_s ?? 0;
  let tokens = Math.min(doc.prompt_tokens, kv.tokens_held);
  let held = `M0 62H${x(began)}V${y(tokens * kv.bytes_per_token)}`;
  let blocks = `M0 62H${x(began)}V${y(allocated(tokens))}`;
  for (const { end } of times.slice(1)) {
    tokens = Math.min(tokens + 1, kv.tokens_held);
    held += `L${x(end)} ${y(tokens * kv.bytes_per_token)}`;
    blocks += `H${x(end)}V${y(allocated(tokens))}`;
  }
  return svg("svg", { class: "grow", viewBox: "0 0 100 64", preserveAspectRatio: "none", role: "img", "aria-label": t("xray.kv.growth", { mb: mega(kv.bytes_allocated, 2) }) }, svg("path", { class: "a", d: blocks }), svg("path", { d: held }));
}
