import { h, type Child } from "../dom";
import { num, t, type TextKey } from "../i18n";
import { AttentionPlate } from "./attention";
import type { XrayDocument } from "./document";
import { asWritten, milli, percent } from "./figures";
import { KvPlate } from "./kv";
import { LayersPlate } from "./layers";
import { LensPlate } from "./lens";
import { MemoryPlate } from "./memory";
import { Rail, toPlate } from "./rail";
import { SamplerPlate } from "./sampler_plate";
import type { Plate, Scene } from "./scene";
import { TimePlate } from "./time";
import { TokensPlate } from "./tokens";

export const plates: { number: number; id: string; name: TextKey }[] = [
  { number: 1, id: "p1", name: "xray.time" },
  { number: 2, id: "p2", name: "xray.tokens" },
  { number: 3, id: "p3", name: "xray.layers" },
  { number: 4, id: "p3", name: "xray.lens" },
  { number: 5, id: "p5", name: "xray.attention" },
  { number: 6, id: "p6", name: "xray.kv" },
  { number: 7, id: "p7", name: "xray.sampler" },
  { number: 8, id: "p8", name: "xray.memory.short" },
];

export interface XrayParts {
  rail: HTMLElement;
  body: Child[];
}

/** The rail and the eight plates of one request. `links` stand at the end of the line that says whose they are. */
export function xrayParts(scene: Scene, links: Child[]): XrayParts {
  let rail: Rail | null = null;
  const time = new TimePlate(scene);
  const tokens = new TokensPlate(scene);
  const layers = new LayersPlate(scene);
  const lens = new LensPlate(scene);
  const attention = new AttentionPlate(scene);
  const kv = new KvPlate(scene);
  const sampler = new SamplerPlate(scene, () => rail?.refresh());
  const memory = new MemoryPlate(scene);
  const all: Plate[] = [time, tokens, layers, lens, attention, kv, sampler, memory];
  rail = new Rail(scene, plates.map((entry, idx) => ({ ...entry, name: t(entry.name), figure: () => all[idx]!.figure() })));
  return {
    rail: rail.element,
    body: [
      whoLine(scene.doc, links),
      figures(scene.doc),
      time.element,
      tokens.element,
      h("section", { class: "plate", id: "p3", tabindex: -1, "aria-labelledby": "p3-title" }, h("div", { class: "pair" }, layers.element, lens.element)),
      h("div", { class: "half" }, attention.element, kv.element),
      sampler.element,
      memory.element,
    ],
  };
}

/** Values that change nothing, where they aren't 0. */
const neutral: Record<string, number> = { top_p: 1, typical_p: 1, repetition_penalty: 1, repeat_last_n: -1, dry_base: 1.75, dry_allowed_length: 2, dry_penalty_last_n: -1, xtc_threshold: 0.1, xtc_min_keep: 1 };

/** What the sampler was asked for. */
export function samplingWords({ sampling }: XrayDocument): string {
  const isTold = ([name, value]: [string, unknown]): boolean => name === "seed" || (typeof value === "number" && (name === "temperature" || Math.abs(value - (neutral[name] ?? 0)) > 1e-6));
  return Object.entries(sampling).filter(isTold).map(([name, value]) => `${name} ${name === "seed" ? String(value) : asWritten(value as number)}`).join(", ");
}

export function whoLine(doc: XrayDocument, links: Child[]): HTMLElement {
  return h("p", { class: "who" }, h("span", { class: "mono id" }, doc.id), h("span", {}, doc.model), doc.finish_reason ? h("span", {}, t("xray.finished", { reason: doc.finish_reason })) : null,
    h("span", { class: "mono wrap" }, samplingWords(doc)), doc.replay.equal ? h("span", {}, t("xray.equal")) : null, h("span", { class: "bt" }, ...links));
}

function figures(doc: XrayDocument): HTMLElement {
  const { latency, timeline, usage } = doc;
  const measured = timeline.wall_s > 0 ? 1 - timeline.unaccounted_s / timeline.wall_s : 1;
  const rows = usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens;
  const per = (count: number, rate: number | null): string => (rate ? `${num(count)} / ${milli(count / rate, 1)} ms` : "");
  return h("div", { class: "figs" },
    figure(t("xray.figure.wall"), milli(timeline.wall_s, 1), "ms", t("xray.figure.parts", { share: percent(measured, 2) })),
    figure("TTFT", maybe(latency.ttft_s, (s) => milli(s, 1)), "ms", t("xray.figure.first")),
    figure("ITL p50 / p99", latency.itl_p50_s === null || latency.itl_p99_s === null ? "–" : `${milli(latency.itl_p50_s)} / ${milli(latency.itl_p99_s)}`, "ms", t("xray.figure.gaps")),
    figure("TPOT", maybe(latency.tpot_s, (s) => milli(s)), "ms", t("xray.figure.mean")),
    figure("Prefill", maybe(latency.prefill_tokens_per_s, (rate) => num(rate)), "tok/s", per(rows, latency.prefill_tokens_per_s)),
    figure("Decode", maybe(latency.decode_tokens_per_s, (rate) => num(rate)), "tok/s", per(doc.steps.length - 1, latency.decode_tokens_per_s)),
    readFigure(doc));
}

function readFigure({ layers, roof }: XrayDocument): HTMLElement | null {
  if (!layers.decode) return null;
  const all = [...layers.decode.layers, layers.decode.head];
  const rate = all.reduce((sum, cost) => sum + cost.bytes, 0) / all.reduce((sum, cost) => sum + cost.time_s, 0) / 1e9;
  return figure(t("xray.figure.read"), num(rate, 1), "GB/s", roof ? t("xray.figure.roof", { share: percent(rate / roof.gb_per_s, 0), roof: num(roof.gb_per_s, 1) }) : "");
}

const maybe = (value: number | null, text: (value: number) => string): string => (value === null ? "–" : text(value));

export function figure(name: string, value: string, unit: string | null, below: string): HTMLElement {
  return h("div", { class: "fig" }, h("span", {}, name), h("b", {}, value, unit && value !== "–" ? h("small", {}, unit) : null), h("i", {}, below));
}

const isTyping = (target: EventTarget | null): boolean => target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && (target as HTMLInputElement).type !== "range";

/** `[` and `]` go from plate to plate, the arrows from token to token, `?` says so. */
export function plateKeys(scene: () => Scene | null): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
    if (event.key === "[" || event.key === "]") stepPlate(event.key === "]" ? 1 : -1);
    else if (event.key === "?") keysDialog();
    else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && event.target === document.body) scene()?.moveTo(scene()!.position + (event.key === "ArrowRight" ? 1 : -1));
    else return;
    event.preventDefault();
  });
}

function stepPlate(by: number): void {
  const ids = [...new Set(plates.map(({ id }) => id))];
  const tops = ids.map((id) => document.getElementById(id)?.getBoundingClientRect().top ?? 0);
  const current = tops.findLastIndex((top) => top < 80);
  const next = by > 0 ? current + 1 : tops[current] !== undefined && tops[current]! < -8 ? current : current - 1;
  const id = ids[Math.max(0, Math.min(ids.length - 1, next))];
  if (id) toPlate(id);
}

function keysDialog(): void {
  const keys: [string, TextKey][] = [["← →", "xray.keys.arrows"], ["Home End", "xray.keys.ends"], ["[ ]", "xray.keys.plates"], ["Enter", "xray.keys.enter"], ["Esc", "xray.keys.escape"]];
  const dialog: HTMLDialogElement = h("dialog", { class: "keysdlg", "aria-label": t("xray.keys") }, h("h2", {}, t("xray.keys")),
    h("dl", {}, ...keys.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, t(text))])), h("p", {}, h("button", { class: "pri", onclick: () => dialog.close() }, t("xray.keys.close"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
