import { defaults, ranges, type Parameters } from "../chat/parameters";
import { fill, h } from "../dom";
import { t } from "../i18n";
import { keep, kept } from "../kept";

const defaultTokens = 64;
const remembered = 12;

export interface AskActions {
  run(prompt: string, parameters: Parameters): void;
  stop(): void;
  compareWith(id: string): void;
  open(id: string): void;
}

/** The prompt, what its answer is sampled with, and the requests that can be opened or set beside the one that is shown. */
export class AskForm {
  readonly element: HTMLElement;
  private readonly field = h("input", { type: "text", id: "pr", placeholder: t("xray.prompt.placeholder"), autocomplete: "off" });
  private readonly button = h("button", { class: "pri", type: "submit" }, t("xray.run"));
  private readonly with_ = h("button", { type: "button", "aria-expanded": "false" }, t("xray.compare"));
  private readonly other = h("input", { type: "text", id: "other", class: "mono", list: "others", placeholder: "req-…", autocomplete: "off", spellcheck: "false" });
  private readonly others = h("datalist", { id: "others" });
  private readonly pick: HTMLElement;
  private readonly inputs = new Map<string, HTMLInputElement>();
  private isRunning = false;
  private request: string | null = null;

  constructor(private readonly actions: AskActions, limit: number) {
    const beside = h("button", { type: "button", onclick: () => this.picked(actions.compareWith) }, t("xray.compare.beside"));
    const alone = h("button", { type: "button", onclick: () => this.picked(actions.open) }, t("xray.compare.open"));
    this.pick = h("div", { class: "pick" }, h("label", { for: "other" }, t("xray.compare.which")), this.other, this.others, beside, alone);
    this.pick.hidden = true;
    this.with_.addEventListener("click", () => this.togglePick());
    const form = h("form", { class: "ask", onsubmit: (event: Event) => this.submitted(event) }, h("label", { class: "vh", for: "pr" }, t("xray.prompt")), this.field, this.button, this.with_);
    this.field.value = kept("xray.prompt") ?? "";
    this.element = h("div", {}, form, this.pick, this.parameters(limit));
  }

  focus(): void {
    this.field.focus();
  }

  setRunning(isRunning: boolean): void {
    this.isRunning = isRunning;
    this.button.textContent = t(isRunning ? "chat.stop" : "xray.run");
  }

  setOnline(isOnline: boolean): void {
    for (const control of [this.button, this.with_, this.field]) control.disabled = !isOnline;
  }

  /** The request that is shown; it can then be set beside others. */
  setRequest(id: string | null): void {
    this.request = id;
    if (id === null) return;
    const all = [id, ...this.recent().filter((other) => other !== id)].slice(0, remembered);
    keep("xray.recent", all.join(" "));
  }

  private recent(): string[] {
    return (kept("xray.recent") ?? "").split(" ").filter((id) => id !== "");
  }

  private togglePick(): void {
    this.pick.hidden = !this.pick.hidden;
    this.with_.setAttribute("aria-expanded", String(!this.pick.hidden));
    const others = this.recent().filter((id) => id !== this.request);
    fill(this.others, ...others.map((id) => h("option", { value: id })));
    if (this.pick.hidden) return;
    if (this.other.value === "") this.other.value = others[0] ?? "";
    this.other.focus();
  }

  private picked(use: (id: string) => void): void {
    const id = this.other.value.trim();
    if (id !== "") use(id);
  }

  private submitted(event: Event): void {
    event.preventDefault();
    if (this.isRunning) return this.actions.stop();
    const prompt = this.field.value.trim();
    if (prompt === "") return this.field.focus();
    keep("xray.prompt", prompt);
    this.actions.run(prompt, this.values());
  }

  private parameters(limit: number): HTMLElement {
    const wanted: Record<string, number | null> = { ...defaults(limit), max_tokens: Math.min(defaultTokens, limit) };
    const rows = ranges(limit).map(({ name, min, max, step }) => this.number(name, { min, max, step: name === "max_tokens" ? 1 : step }, wanted[name] ?? null));
    return h("details", { class: "asked" }, h("summary", {}, t("chat.parameters")), h("div", { class: "grid" }, ...rows, this.number("seed", { min: 0, step: 1, placeholder: t("chat.seed.none") }, null)));
  }

  private number(name: string, attributes: Record<string, string | number>, value: number | null): HTMLElement {
    const input = h("input", { type: "number", id: `run-${name}`, class: "mono", ...attributes });
    if (value !== null) input.value = String(value);
    this.inputs.set(name, input);
    return h("label", { for: `run-${name}` }, name, input);
  }

  private values(): Parameters {
    const values = defaults(Infinity);
    for (const [name, input] of this.inputs) {
      if (input.value !== "" && Number.isFinite(input.valueAsNumber)) Object.assign(values, { [name]: input.valueAsNumber });
    }
    return values;
  }
}
