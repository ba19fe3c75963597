import { h, styled } from "../dom";
import { num, t, type TextKey } from "../i18n";
import { head, mega, muted, percent, plate, swatch } from "./figures";
import type { Cost, MemoryUse, XrayDocument } from "./document";
import type { Plate, Scene } from "./scene";

const kinds: { field: Exclude<keyof MemoryUse, "rss_bytes">; name: TextKey; color: string }[] = [
  { field: "weights_bytes", name: "xray.memory.weights", color: "--se-1" },
  { field: "kv_bytes", name: "xray.memory.kv", color: "--se-2" },
  { field: "activations_bytes", name: "xray.memory.activations", color: "--se-3" },
  { field: "scratch_bytes", name: "xray.memory.scratch", color: "--se-4" },
  { field: "other_bytes", name: "xray.memory.other", color: "--se-6" },
];

/** Plate 8: what lies in memory, and what the request costs at the prices of the table. */
export class MemoryPlate implements Plate {
  readonly element: HTMLElement;

  constructor(private readonly scene: Scene) {
    const { doc } = scene;
    this.element = plate(8, "p8", t("xray.memory"), t("xray.memory.hint"), null,
      h("div", { class: "half" }, doc.memory ? h("div", {}, memoryBar(doc.memory), memoryTable(doc.memory)) : muted(t("xray.memory.none")), h("div", {}, doc.cost ? costTable(doc, doc.cost) : muted(t("xray.cost.none")), replayLine(doc))));
  }

  figure(): string {
    const bytes = this.scene.doc.memory?.rss_bytes;
    return bytes ? `${mega(bytes)} MB` : "";
  }
}

const sumOf = (memory: MemoryUse): number => kinds.reduce((total, { field }) => total + memory[field], 0);

function memoryBar(memory: MemoryUse): HTMLElement {
  const total = Math.max(sumOf(memory), 1);
  const label = kinds.map(({ field, name }) => `${t(name)} ${mega(memory[field])} MB`).join(", ");
  return h("div", { class: "mem", role: "img", "aria-label": label }, ...kinds.map(({ field, name, color }) => styled(h("i", { title: `${t(name)} ${mega(memory[field])} MB` }), { "--c": `var(${color})`, width: `${(100 * memory[field]) / total}%` })));
}

function memoryTable(memory: MemoryUse): HTMLElement {
  const total = sumOf(memory);
  const { prefix_cache_bytes, rss_bytes } = memory;
  return h("table", {}, head([[t("xray.memory.buffer")], ["MB", "n"], [t("xray.time.share"), "n"]]),
    h("tbody", {}, ...kinds.map(({ field, name, color }) => h("tr", {}, h("td", {}, swatch("", `var(${color})`), t(name)), h("td", { class: "n" }, mega(memory[field])), h("td", { class: "n" }, percent(memory[field] / total)))),
      h("tr", { class: "sum" }, h("td", {}, t("xray.sum")), h("td", { class: "n" }, mega(total)), h("td", { class: "n" }, percent(1))),
      rss_bytes === null ? null : h("tr", { class: "sum mut" }, h("td", {}, t("xray.memory.resident")), h("td", { class: "n" }, mega(rss_bytes)), h("td", { class: "n" }, percent(rss_bytes / total))),
      h("tr", { class: "sum mut" }, h("td", {}, t("xray.memory.prefix")), h("td", { class: "n" }, mega(prefix_cache_bytes)), h("td"))));
}

function costTable(doc: XrayDocument, cost: Cost): HTMLElement {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = doc.usage;
  const cached = prompt_tokens_details.cached_tokens;
  const row = (name: string, tokens: number, price: number, amount: number): HTMLElement => h("tr", {}, h("td", {}, name), h("td", { class: "n" }, num(tokens)), h("td", { class: "n" }, num(price, 2)), h("td", { class: "n" }, num(amount, 8)));
  return h("div", {}, h("table", { id: "cost" }, head([[t("xray.cost")], [t("xray.cost.tokens"), "n"], [t("xray.cost.price", { currency: cost.currency }), "n"], [cost.currency, "n"]]),
    h("tbody", {}, row(t("xray.cost.prompt"), prompt_tokens - cached, cost.input_per_million, cost.prompt), row(t("xray.cost.cached"), cached, cost.cached_input_per_million, cost.cached), row(t("xray.cost.answer"), completion_tokens, cost.output_per_million, cost.answer),
      h("tr", { class: "sum" }, h("td", {}, t("xray.cost.total")), h("td", { class: "n" }, num(total_tokens)), h("td"), h("td", { class: "n" }, num(cost.total, 8))),
      h("tr", {}, h("td", {}, t("xray.cost.many")), h("td"), h("td"), h("td", { class: "n" }, num(cost.per_100000_calls, 2))))), h("p", { class: "xs mut dated" }, t("xray.cost.dated", { date: cost.prices_dated })));
}

function replayLine({ replay }: XrayDocument): HTMLElement {
  if (!replay.equal) return h("p", { class: "note bad" }, t("xray.replay.differs", { step: num(replay.first_difference ?? 0) }));
  return h("p", { class: "xs mut dated" }, t("xray.replay", { ms: num(1000 * replay.wall_s), mb: mega(replay.memory_bytes) }));
}
