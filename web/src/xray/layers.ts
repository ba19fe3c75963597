import { fill, h } from "../dom";
import { num, t } from "../i18n";
import { head, mega, micro, muted, percent, segment, segmented, swatch } from "./figures";
import type { LayerCost, LayerCosts, OpCost, XrayDocument } from "./document";
import type { Plate, Scene } from "./scene";

const opOrder = ["norms", "qkv", "attention", "out", "gate_up", "down", "router", "other"];
const opClass = (name: string): string => `o${Math.max(0, opOrder.indexOf(name))}`;
const opName = (name: string): string => ({ qkv: "q k v", gate_up: "gate, up" })[name] ?? name;

type Phase = "decode" | "prefill";

/** Plate 3: what each layer cost, by operator. */
export class LayersPlate implements Plate {
  readonly element = h("div", { class: "plate3" });
  private readonly body = h("div");
  private readonly shape = h("p", { class: "sm mut shape" });
  private phase: Phase;

  constructor(private readonly scene: Scene) {
    const { doc } = scene;
    this.phase = doc.layers.decode ? "decode" : "prefill";
    const names: [Phase, string][] = [["decode", t("xray.layers.decode")], ["prefill", t("xray.layers.prefill", { rows: num(doc.layers.prefill.rows) })]];
    const switcher = segmented(doc.layers.decode ? names : names.slice(1), this.phase, (name) => {
      this.phase = name;
      this.show();
    });
    fill(this.element, h("header", {}, h("span", { class: "no" }, 3), h("h2", { id: "p3-title" }, t("xray.layers")), h("span", { class: "end" }, switcher)),
      this.shape, h("div", { class: "scroll" }, this.body), opKey(doc), h("p", { class: "xs mut mono kernels" }, doc.kernels.join(", ")));
    this.show();
  }

  figure(): string {
    return num(this.scene.doc.shape.num_layers);
  }

  private show(): void {
    const { doc } = this.scene;
    const costs = this.phase === "decode" ? doc.layers.decode! : doc.layers.prefill;
    fill(this.shape, h("span", { class: "mono" }, `hidden [${num(costs.rows)}, ${num(doc.shape.hidden_size)}]`));
    fill(this.body, layersTable(costs, doc, this.phase), doc.roof ? null : muted(t("xray.layers.noroof")));
  }
}

function opKey(doc: XrayDocument): HTMLElement {
  const used = new Set([doc.layers.prefill, doc.layers.decode].flatMap((costs) => costs?.layers.flatMap((layer) => layer.ops.map((op) => op.name)) ?? []));
  return h("p", { class: "key" }, ...opOrder.filter((name) => used.has(name)).map((name) => h("span", {}, swatch(opClass(name)), opName(name))));
}

interface Rate {
  /** A decoding step is bound by what it reads, a prompt by what it multiplies. */
  of(cost: { time_s: number; bytes: number; flops: number }): number;
  roof: number | null;
  decimals: number;
}

function rateOf(phase: Phase, { roof }: XrayDocument): Rate {
  if (phase === "decode") return { of: ({ bytes, time_s }) => bytes / time_s / 1e9, roof: roof?.gb_per_s ?? null, decimals: 1 };
  return { of: ({ flops, time_s }) => flops / time_s / 1e12, roof: roof?.tflops ?? null, decimals: 2 };
}

function layersTable(costs: LayerCosts, doc: XrayDocument, phase: Phase): HTMLElement {
  const longest = Math.max(...costs.layers.map((layer) => layer.time_s));
  const rate = rateOf(phase, doc);
  const total = { time_s: costs.embedding.time_s + costs.head.time_s, bytes: costs.head.bytes, flops: costs.head.flops };
  for (const layer of costs.layers) {
    total.time_s += layer.time_s;
    total.bytes += layer.bytes;
    total.flops += layer.flops;
  }
  return h("table", { class: "dense cost", id: "layers" },
    head([["№", "n"], [t("xray.layers.operators"), "w"], ["µs", "n"], ["MB", "n"], [phase === "decode" ? "GB/s" : "TFLOPS", "n"], [t("xray.layers.roof"), "n"], ["‖h‖", "n"]]),
    h("tbody", {}, row(t("xray.layers.embedding"), null, { ...costs.embedding, bytes: 0, flops: 0 }, null, null),
      ...costs.layers.map((layer) => row(num(layer.layer), opBar(layer, longest), layer, rate, layer.hidden_norm)),
      row("head", h("span", { class: "mut sm" }, t("xray.layers.rows", { rows: num(doc.shape.vocab_size) })), costs.head, rate, null),
      row(t("xray.sum"), null, total, rate, null, "sum")));
}

function row(name: string, bar: HTMLElement | null, cost: { time_s: number; bytes: number; flops: number }, rate: Rate | null, norm: number | null, cls: string | null = null): HTMLElement {
  const value = rate && cost.time_s > 0 ? rate.of(cost) : null;
  return h("tr", { class: cls }, h("td", { class: "n mut" }, name), h("td", {}, bar), h("td", { class: "n" }, micro(cost.time_s)), h("td", { class: "n" }, rate ? mega(cost.bytes, 2) : ""),
    h("td", { class: "n" }, value === null ? "" : num(value, rate!.decimals)), h("td", { class: "n" }, value === null || rate!.roof === null ? "" : percent(value / rate!.roof, 0)), h("td", { class: "n mut" }, norm === null ? "" : num(norm, 1)));
}

function opBar(layer: LayerCost, longest: number): HTMLElement {
  const title = (op: OpCost): string => `${opName(op.name)} ${micro(op.time_s)} µs`;
  const bar = h("div", { class: "ops", role: "img", "aria-label": layer.ops.map(title).join(", ") }, ...[...layer.ops].sort((a, b) => opOrder.indexOf(a.name) - opOrder.indexOf(b.name)).map((op) => segment(opClass(op.name), op.time_s / longest, title(op))));
  return bar;
}
