import { h, styled, type Child } from "../dom";
import { num } from "../i18n";

export const percent = (share: number, decimals = 1): string => `${num(100 * share, decimals)} %`;
export const milli = (seconds: number, decimals = 2): string => num(1000 * seconds, decimals);
export const micro = (seconds: number, decimals = 1): string => num(1e6 * seconds, decimals);
export const mega = (bytes: number, decimals = 1): string => num(bytes / 1e6, decimals);

/** The shortest number that is the same float: 0.7 for 0.699999988. */
export function asWritten(value: number): number {
  const short = Number(value.toPrecision(6));
  return Math.fround(short) === Math.fround(value) ? short : value;
}

/** "49k": where there is room for three characters. */
export function short(count: number): string {
  return count < 10_000 ? num(count) : count < 1e6 ? `${Math.floor(count / 1000)}k` : `${num(count / 1e6, 1)}M`;
}

/** A part of a bar to scale. */
export function segment(cls: string, share: number, title: string): HTMLElement {
  return styled(h("i", { class: cls, title }), { width: `${100 * share}%` });
}

export function cellBar(share: number, cls = "", color: string | null = null): HTMLElement {
  return styled(h("i", { class: `cellbar ${cls}` }), { width: `${100 * Math.min(1, share)}%`, ...(color === null ? {} : { "--c": color }) });
}

export function swatch(cls: string, color: string | null = null): HTMLElement {
  const element = h("i", { class: `sw ${cls}` });
  return color === null ? element : styled(element, { "--c": color });
}

/** 1, 2 or 5 times a power of ten: at most `most` of them in `max`. */
export function tickStep(max: number, most: number): number {
  const power = 10 ** Math.floor(Math.log10(max / most));
  return ([1, 2, 5, 10].find((step) => max / (step * power) <= most) ?? 10) * power;
}

/** Milliseconds below a bar. */
export function axis(seconds: number, most: number): HTMLElement {
  const max = 1000 * seconds;
  const step = tickStep(max, most);
  const marks: Child[] = [];
  for (let at = 0; at < max - 0.45 * step; at += step)
    marks.push(styled(h("span", {}, at === 0 ? "0 ms" : num(at, step < 1 ? Math.ceil(-Math.log10(step)) : 0)), { left: `${(100 * at) / max}%` }));
  return h("div", { class: "ax", "aria-hidden": "true" }, ...marks, styled(h("span", { class: "e" }, num(max, max < 10 ? 2 : 1)), { left: "100%" }));
}

export function head(cells: [string, string?][]): HTMLElement {
  return h("thead", {}, h("tr", {}, ...cells.map(([text, cls]) => h("th", { class: cls ?? null }, text))));
}

export function plate(number: number, id: string, title: string, hint: Child, end: Child, ...rest: Child[]): HTMLElement {
  return h("section", { class: "plate", id, "aria-labelledby": `${id}-title`, tabindex: -1 },
    h("header", {}, h("span", { class: "no" }, number), h("h2", { id: `${id}-title` }, title), hint ? h("p", {}, hint) : null, end ? h("span", { class: "end" }, end) : null), ...rest);
}

export const muted = (text: string): HTMLElement => h("p", { class: "mut sm part" }, text);

/** One of a few, pressed. */
export function segmented<Name extends string>(names: [Name, string][], pressed: Name, choose: (name: Name) => void): HTMLElement {
  const buttons = names.map(([name, text]) => h("button", { type: "button", "aria-pressed": String(name === pressed) }, text));
  buttons.forEach((button, idx) =>
    button.addEventListener("click", () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      choose(names[idx]![0]);
    }));
  return h("span", { class: "seg" }, ...buttons);
}
