import { copyText, fill, h } from "../dom";
import { num, t } from "../i18n";
import type { Server } from "../shell";
import { chatSnippet, tongues } from "../snippets";
import { messages, path, tokensUsed, type Conversation, type Example } from "./conversation";
import { advice, asFields, defaults, loadParameters, ranges, saveParameters, type Range } from "./parameters";

/** The parameters of the next request, examples, and the request itself to copy. */
export class Drawer {
  readonly element = h("aside", { class: "drawer", "aria-label": t("chat.parameters") });
  parameters;
  private readonly rows: { range: Range; show: () => void }[] = [];
  private readonly seed = h("input", { type: "text", id: "seed", class: "mono", inputmode: "numeric", placeholder: t("chat.seed.none") });
  private readonly examples = h("div", { class: "examples" });
  private readonly examplesTitle = h("summary");
  private readonly limit: number;
  private shownTalk = "";

  constructor(private readonly server: Server, private readonly talk: () => Conversation, private readonly changed: () => void) {
    this.limit = server.model?.context_length ?? 4096;
    this.parameters = loadParameters(this.limit);
    const reset = h("button", { class: "q sm", onclick: () => this.reset() }, t("chat.defaults"));
    this.seed.addEventListener("input", () => this.takeSeed());
    fill(this.element, h("h2", {}, h("span", {}, t("chat.parameters")), reset),
      ...ranges(this.limit).map((range) => this.row(range)),
      h("div", { class: "param" }, h("label", { for: "seed" }, "seed"), h("span", { class: "mut" }, t("chat.seed")), this.seed),
      h("details", {}, this.examplesTitle, h("p", { class: "mut" }, t("chat.examples.why")), this.examples),
      h("div", { class: "same" }, h("p", { class: "mut" }, t("chat.same")), h("p", { class: "btns" }, ...tongues.map((tongue) => this.copyButton(tongue)))));
  }

  show(): void {
    this.rows.forEach((row) => row.show());
    if (document.activeElement !== this.seed) this.seed.value = this.parameters.seed === null ? "" : String(this.parameters.seed);
    const talk = this.talk();
    this.examplesTitle.textContent = t("chat.examples", { count: talk.examples.length });
    if (this.shownTalk === talk.id) return;
    this.shownTalk = talk.id;
    this.showExamples();
  }

  private reset(): void {
    this.parameters = defaults(this.limit);
    saveParameters(this.parameters);
    this.show();
  }

  private takeSeed(): void {
    const text = this.seed.value.trim();
    const isNumber = /^\d{1,15}$/.test(text);
    this.seed.setAttribute("aria-invalid", String(text !== "" && !isNumber));
    this.parameters.seed = isNumber ? Number(text) : null;
    saveParameters(this.parameters);
  }

  private row(range: Range): HTMLElement {
    const { name, min, max, step } = range;
    const output = h("output", { for: name });
    const slider = h("input", { type: "range", id: name, min, max, step, "aria-describedby": name + "-advice" });
    const sentence = h("p", { class: "adv", id: name + "-advice" });
    const show = (): void => {
      const value = this.parameters[name];
      const { text, isWarning } = advice(name, this.parameters, { limit: this.limit, used: tokensUsed(this.talk()) });
      slider.value = String(value);
      output.textContent = num(value, step < 0.1 ? 2 : step < 1 ? 1 : 0);
      slider.setAttribute("aria-valuetext", `${output.textContent}. ${text}`);
      sentence.textContent = text;
      sentence.classList.toggle("warn", isWarning);
    };
    slider.addEventListener("input", () => {
      this.parameters[name] = Number(slider.value);
      saveParameters(this.parameters);
      this.rows.forEach((row) => row.show());
    });
    this.rows.push({ range, show });
    return h("div", { class: "param" }, h("label", { for: name }, name), output, slider, sentence);
  }

  private showExamples(): void {
    const list = this.talk().examples;
    const add = (): void => {
      list.push({ user: "", assistant: "" });
      this.changed();
      this.showExamples();
    };
    fill(this.examples, ...list.map((example, idx) => this.exampleFields(example, idx)), h("button", { class: "sm", onclick: add }, t("chat.examples.add")));
  }

  private exampleFields(example: Example, idx: number): HTMLElement {
    const field = (part: keyof Example, label: string): HTMLElement => {
      const area = h("textarea", { rows: 2, placeholder: label, "aria-label": `${label} ${idx + 1}` });
      area.value = example[part];
      area.addEventListener("change", () => {
        example[part] = area.value;
        this.changed();
      });
      return area;
    };
    const remove = (): void => {
      this.talk().examples.splice(idx, 1);
      this.changed();
      this.showExamples();
    };
    return h("div", { class: "example" }, field("user", t("chat.examples.user")), field("assistant", t("chat.examples.assistant")),
      h("button", { class: "q sm", onclick: remove }, t("chat.examples.remove")));
  }

  private copyButton(tongue: (typeof tongues)[number]): HTMLElement {
    const button: HTMLButtonElement = h("button", { class: "sm", onclick: () => {
      const talk = this.talk();
      const last = path(talk).findLast((turn) => turn.role === "user") ?? null;
      const all = messages(talk, last);
      const request = { model: this.server.model?.id ?? "", messages: all.length > 0 ? all : [{ role: "user" as const, content: "Hello" }], stream: true, ...asFields(this.parameters) };
      void copyText(chatSnippet(tongue, this.server.origin, request), button, t("copied"));
    } }, tongue);
    return button;
  }
}
