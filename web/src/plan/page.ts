import { ApiError } from "../api";
import { copyText, fill, h } from "../dom";
import { num, t } from "../i18n";
import { errorNote, type Page, type Server } from "../shell";
import { shellQuoted } from "../snippets";
import { askPlan, queryOf, questionIn, usualContexts, type Plan, type Question } from "./answer";
import { bars, formula, planFigures, planTable } from "./figures";

export const planPage: Page = { path: "/planner", name: "nav.plan", start: (main, server) => new PlanPage(main, server).begin() };

const typingMs = 350;

class PlanPage {
  private question: Question = questionIn(new URLSearchParams(location.search));
  private readonly subject = h("select", { id: "plan-model" });
  private readonly context = h("input", { type: "text", id: "plan-context", class: "mono", inputmode: "numeric", autocomplete: "off" });
  private readonly batch = h("input", { type: "text", id: "plan-batch", class: "mono", inputmode: "numeric", autocomplete: "off" });
  private readonly kvType = h("select", { id: "plan-kv" });
  private readonly figs = h("div", { class: "figs" });
  private readonly note = h("div", { "aria-live": "polite" });
  private readonly needs = h("section", { class: "plate need", "aria-label": t("plan.needs") });
  private readonly rest = h("section", { class: "plate" });
  private asking: AbortController | null = null;
  private timer = 0;

  constructor(private readonly main: HTMLElement, private readonly server: Server) {}

  async begin(): Promise<void> {
    const plan = await this.first();
    this.main.className = "planner";
    fill(this.main, h("section", { class: "plate head" }, h("header", {}, h("h1", {}, t("plan.title")), h("p", {}, t("plan.hint"))), this.form(plan), this.note, this.figs), this.needs, this.rest);
    this.listen();
    this.show(plan);
    this.server.addEventListener("change", () => [this.subject, this.context, this.batch, this.kvType].forEach((control) => (control.disabled = !this.server.isOnline)));
  }

  /** Without a question the model's own lengths are shown. */
  private async first(): Promise<Plan> {
    if (this.question.context !== "") return askPlan(this.question);
    const plan = await askPlan(this.question);
    this.question.context = usualContexts(plan.model.context_length);
    return askPlan(this.question);
  }

  private form(plan: Plan): HTMLElement {
    const { models, shapes, kv_types } = plan.choices;
    const option = (kind: string, name: string): HTMLElement => h("option", { value: `${kind}:${name}` }, name);
    fill(this.subject, h("optgroup", { label: t("plan.served") }, ...models.map((name) => option("model", name))), h("optgroup", { label: t("plan.shapes") }, ...shapes.map((name) => option("shape", name))));
    fill(this.kvType, ...kv_types.map((name) => h("option", {}, name)));
    if (this.question.subject === "") this.question.subject = `model:${plan.model.name}`;
    this.subject.value = this.question.subject;
    if (!kv_types.includes(this.question.kvType)) this.kvType.append(h("option", {}, this.question.kvType));
    this.kvType.value = this.question.kvType;
    this.context.value = this.question.context;
    this.batch.value = this.question.batch;
    const field = (control: HTMLElement, label: string): HTMLElement => h("div", {}, h("label", { for: control.id }, label), control);
    return h("form", { class: "ctl", onsubmit: (event: Event) => (event.preventDefault(), void this.ask()) },
      field(this.subject, t("plan.model")), field(this.context, t("plan.context")), field(this.batch, t("plan.batch")), field(this.kvType, t("plan.kv")));
  }

  private listen(): void {
    this.subject.addEventListener("change", () => {
      this.context.value = "";
      void this.ask();
    });
    this.kvType.addEventListener("change", () => void this.ask());
    for (const field of [this.context, this.batch]) {
      field.addEventListener("input", () => {
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => void this.ask(), typingMs);
      });
    }
  }

  private async ask(): Promise<void> {
    clearTimeout(this.timer);
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    this.question = { ...this.question, subject: this.subject.value, context: this.context.value, batch: this.batch.value, kvType: this.kvType.value };
    try {
      const plan = await this.answer(asking.signal);
      if (this.asking === asking) this.show(plan);
    } catch (error) {
      if (this.asking !== asking || asking.signal.aborted) return;
      fill(this.note, errorNote(error));
      if (error instanceof ApiError && error.status === 0) void this.server.check();
    }
  }

  private async answer(signal: AbortSignal): Promise<Plan> {
    const plan = await askPlan(this.question, signal);
    if (this.question.context.trim() !== "") return plan;
    this.context.value = this.question.context = usualContexts(plan.model.context_length);
    return askPlan(this.question, signal);
  }

  private show(plan: Plan): void {
    history.replaceState(null, "", `?${queryOf(this.question)}`);
    fill(this.note, plan.model.note === "" ? null : h("p", { class: "note", lang: "en" }, plan.model.note));
    fill(this.figs, ...planFigures(plan));
    fill(this.needs, ...bars(plan));
    fill(this.rest, h("div", { class: "g2" }, planTable(plan), h("div", {}, ...formula(plan.rows[0]!), this.command(plan))));
  }

  /** The longest of the lengths that fit, as a command. */
  private command(plan: Plan): HTMLElement | null {
    const best = plan.rows.filter((row) => row.fits).sort((a, b) => b.context * b.batch - a.context * a.batch)[0];
    if (!best || !plan.model.is_computed) return null;
    const kv = best.kv_type === "f16" ? "" : ` --kv-type ${best.kv_type}`;
    const text = `vitrine serve ${shellQuotedWhereNeeded(plan.model.name)} --ctx ${Math.min(best.context, plan.model.context_length)} --kv-memory ${Math.ceil(best.kv_allocated_bytes / 2 ** 20)}MiB${kv}`;
    const button: HTMLButtonElement = h("button", { type: "button", onclick: () => void copyText(text, button, t("copied")) }, t("plan.copy"));
    return h("p", { class: "sm serve" }, button, " ", h("code", {}, text), " ", h("span", { class: "mut" }, t("plan.copy.for", { context: num(best.context), batch: num(best.batch) })));
  }
}

const shellQuotedWhereNeeded = (text: string): string => (/^[\w.:/-]+$/.test(text) ? text : shellQuoted(text));
