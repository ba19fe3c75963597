import type { Timings } from "../api";
import { h, styled } from "../dom";
import { ms, num, t } from "../i18n";

// Where the time of an answer went: a thin bar to scale, and the same as a table whose parts add up to what the browser saw.

interface Part {
  stage: string; // as the API names it; the class has its colour
  name: string;
  seconds: number;
}

export function parts(timings: Timings, wallS: number): Part[] {
  const known: Part[] = [
    { stage: "lookup", name: "load", seconds: timings.load_s ?? 0 },
    { stage: "template", name: "prepare", seconds: timings.prepare_s },
    { stage: "queue", name: "queue", seconds: timings.queue_s },
    { stage: "prefill", name: "prefill", seconds: timings.prefill_s },
    { stage: "decode", name: "decode", seconds: timings.decode_s },
    { stage: "sample", name: "sample", seconds: timings.sample_s },
    { stage: "other", name: "other", seconds: timings.other_s },
  ];
  const sum = known.reduce((total, part) => total + part.seconds, 0);
  return [...known, { stage: "socket", name: "socket", seconds: Math.max(0, wallS - sum) }];
}

export function timeline(all: Part[]): HTMLElement {
  const total = all.reduce((sum, part) => sum + part.seconds, 0) || 1;
  const label = all.map((part) => `${part.name} ${ms(part.seconds)}`).join(", ");
  return h("span", { class: "tbar", role: "img", "aria-label": label },
    ...all.filter((part) => part.seconds > 0).map((part) =>
      styled(h("i", { class: "c-" + part.stage, title: `${part.name} ${ms(part.seconds)}` }), { width: `${(100 * part.seconds) / total}%` })));
}

export function ledger(all: Part[]): HTMLElement {
  const total = all.reduce((sum, part) => sum + part.seconds, 0);
  const row = (part: Part): HTMLElement =>
    h("tr", {},
      h("td", {}, h("i", { class: "sw c-" + part.stage }), part.name),
      h("td", { class: "mut opt" }, t(`chat.stage.${part.name}` as never)),
      h("td", { class: "n" }, num(part.seconds * 1000, 2)),
      h("td", { class: "n" }, num(total > 0 ? (100 * part.seconds) / total : 0, 1)));
  return h("table", { class: "ledger" },
    h("thead", {}, h("tr", {}, h("th", {}, t("chat.ledger.stage")), h("th", { class: "opt" }), h("th", { class: "n" }, "ms"), h("th", { class: "n" }, "%"))),
    h("tbody", {}, ...all.filter((part) => part.name !== "load" || part.seconds > 0.0005).map(row),
      h("tr", { class: "sum" }, h("td", {}, t("chat.ledger.sum")), h("td", { class: "opt" }), h("td", { class: "n" }, num(total * 1000, 2)), h("td", { class: "n" }, num(100, 1)))));
}
