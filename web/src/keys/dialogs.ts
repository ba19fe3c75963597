import type { Model } from "../api";
import { copyText, fill, h, type Child } from "../dom";
import { t } from "../i18n";
import { errorNote } from "../shell";
import { limitNames, type Key, type LimitChanges, type LimitName, type Limits, type Plan } from "./admin";

// Each opens a dialog and is fulfilled when that has closed.

function open(title: string, content: (close: (value: string) => void) => Child[], cls = ""): { dialog: HTMLDialogElement; closed: Promise<string> } {
  const dialog = h("dialog", { class: cls, "aria-labelledby": "dialog-title" });
  const closed = new Promise<string>((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
  fill(dialog, h("h2", { id: "dialog-title" }, title), ...content((value) => dialog.close(value)));
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, closed };
}

export async function confirmAction(title: string, text: string, action: string): Promise<boolean> {
  const { closed } = open(title, (close) => [h("p", {}, text),
    h("div", { class: "ft" }, h("button", { autofocus: true, onclick: () => close("") }, t("chat.cancel")), h("button", { class: "dng", onclick: () => close("yes") }, action))]);
  return (await closed) === "yes";
}

/** The key is in the page for as long as this dialog is open, and nowhere else. */
export async function showOnce(name: string, key: string, origin: string): Promise<void> {
  const stored = h("input", { type: "checkbox", id: "stored" });
  const done = h("button", { class: "pri", disabled: true }, t("keys.once.done"));
  const copy: HTMLButtonElement = h("button", { onclick: () => void copyText(key, copy, t("copied")) }, t("copy"));
  const warning = h("p", { class: "note warn", role: "alert", hidden: true }, t("keys.once.sure"));
  stored.addEventListener("change", () => (done.disabled = !stored.checked));
  const { dialog, closed } = open(t("keys.once.title", { name }), (close) => {
    done.addEventListener("click", () => close("done"));
    return [h("p", { class: "mut sm" }, t("keys.once.text")),
      h("div", { class: "key1" }, h("output", { id: "new-key", tabindex: 0 }, key), copy),
      h("p", { class: "sm mut env" }, h("code", {}, `export OPENAI_API_KEY=${key.slice(0, 7)}…`), " ", h("code", {}, `OPENAI_BASE_URL=${origin}/v1`)), warning,
      h("div", { class: "ft" }, h("label", {}, stored, t("keys.once.stored")), done)];
  }, "once");
  dialog.addEventListener("cancel", (event) => {
    if (stored.checked || !warning.hidden) return; // Escape asks once
    event.preventDefault();
    warning.hidden = false;
  });
  await closed;
  fill(dialog);
}

/** A form in a dialog that stays open, with the reason, when `submit` fails. */
async function form(title: string, fields: Child[], action: string, submit: () => Promise<unknown>): Promise<void> {
  const note = h("div");
  const send = h("button", { class: "pri", type: "submit" }, action);
  const { closed } = open(title, (close) => {
    const run = async (event: Event): Promise<void> => {
      event.preventDefault();
      send.disabled = true;
      try {
        await submit();
        close("done");
      } catch (error) {
        fill(note, errorNote(error));
        send.disabled = false;
      }
    };
    return [h("form", { onsubmit: (event: Event) => void run(event) }, ...fields, note,
      h("div", { class: "ft" }, h("button", { type: "button", onclick: () => close("") }, t("chat.cancel")), send))];
  });
  await closed;
}

/** What limits may name. */
export interface LimitChoices {
  models: Model[];
  plans: Plan[];
}

export function newKeyForm(choices: LimitChoices, create: (name: string, role: string, limits: LimitChanges) => Promise<unknown>): Promise<void> {
  const name = h("input", { type: "text", id: "key-name", maxlength: 64, required: true, autofocus: true, placeholder: "laptop" });
  const admin = h("input", { type: "checkbox", id: "key-admin", onchange: () => (scrape.checked = false) });
  const scrape = h("input", { type: "checkbox", id: "key-scrape", onchange: () => (admin.checked = false) });
  const role = (): string => (admin.checked ? "admin" : scrape.checked ? "scrape" : "user");
  const limits = new LimitFields({}, choices);
  const fields = [h("label", { for: "key-name" }, t("keys.form.name")), name, h("label", { class: "check" }, admin, t("keys.form.admin")), h("label", { class: "check" }, scrape, t("keys.form.scrape")), h("details", {}, h("summary", {}, t("keys.limits")), limits.element)];
  return form(t("keys.create"), fields, t("keys.form.create"), () => create(name.value.trim(), role(), limits.changes()));
}

export function editLimits(key: Key, choices: LimitChoices, change: (limits: LimitChanges) => Promise<unknown>): Promise<void> {
  const limits = new LimitFields(key.limits, choices);
  return form(t("keys.limits.title", { name: key.name }), [limits.element], t("chat.save"), () => change(limits.changes()));
}

/** A field for each limit; an empty one means that the plan says it, or that there is none. */
class LimitFields {
  readonly element = h("div", { class: "limits" });
  private readonly numbers = new Map<LimitName, HTMLInputElement>();
  private readonly models: HTMLInputElement[];
  private readonly plan = h("select", { id: "plan" });

  constructor(private readonly before: Limits, private readonly choices: LimitChoices) {
    this.addPlans();
    for (const name of limitNames) {
      const field = h("input", { type: "text", id: name, inputmode: "numeric", class: "mono", pattern: name === "priority" ? "-?[0-9]*" : "[0-9]*", value: before[name] ?? "" });
      this.numbers.set(name, field);
      this.element.append(h("label", { for: name }, h("code", {}, name), h("span", { class: "mut sm" }, t(`keys.limit.${name}`))), field);
    }
    this.showPlan();
    this.models = choices.models.map(({ id }) => h("input", { type: "checkbox", value: id, checked: before.models?.includes(id) ?? false }));
    this.element.append(h("span", {}, h("code", {}, "models"), h("span", { class: "mut sm" }, t("keys.limit.models"))),
      h("span", {}, ...this.models.map((box) => h("label", { class: "check" }, box, box.value))));
  }

  private addPlans(): void {
    const { plan } = this.before;
    const names = this.choices.plans.map(({ name }) => name);
    if (plan !== undefined && !names.includes(plan)) names.push(plan);
    if (names.length === 0) return;
    fill(this.plan, h("option", { value: "" }, t("keys.none")), ...names.map((name) => h("option", { value: name, selected: name === plan }, name)));
    this.plan.addEventListener("change", () => this.showPlan());
    this.element.append(h("label", { for: "plan" }, h("code", {}, "plan"), h("span", { class: "mut sm" }, t("keys.limit.plan"))), this.plan);
  }

  /** An empty field shows what counts in its place. */
  private showPlan(): void {
    const limits = this.choices.plans.find(({ name }) => name === this.plan.value)?.limits ?? {};
    for (const [name, field] of this.numbers) field.placeholder = String(limits[name] ?? t(name === "priority" ? "keys.form.normal" : "keys.none"));
  }

  /** What differs from before. */
  changes(): LimitChanges {
    const changes: LimitChanges = {};
    if (this.plan.value !== (this.before.plan ?? "")) changes.plan = this.plan.value === "" ? null : this.plan.value;
    for (const [name, field] of this.numbers) {
      const text = field.value.trim();
      const value = text === "" ? null : Number(text);
      if (value !== (this.before[name] ?? null)) changes[name] = value;
    }
    const models = this.models.filter((box) => box.checked).map((box) => box.value);
    if (models.join("\n") !== (this.before.models ?? []).join("\n")) changes.models = models.length > 0 ? models : null;
    return changes;
  }
}
