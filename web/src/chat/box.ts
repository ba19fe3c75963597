import { call } from "../api";
import { h } from "../dom";
import { num, t } from "../i18n";
import { apiKey } from "../kept";

const countDelayMs = 250;

export interface BoxActions {
  send(text: string): void;
  stop(): void;
  openDrawer(): void;
  openList(): void;
  newest(): void;
}

/** Where a message is typed. Enter sends, Shift+Enter breaks the line. */
export class MessageBox {
  readonly element: HTMLElement;
  private readonly field = h("textarea", { id: "message", rows: 2, placeholder: t("chat.message"), "aria-describedby": "box-count" });
  private readonly count = h("span", { class: "num" }, "0");
  private readonly context = h("span");
  private readonly sendButton = h("button", { class: "pri", type: "submit" }, t("chat.send"));
  private readonly newest = h("button", { class: "newest", type: "button", hidden: true }, t("chat.newest"));
  private isBusy = false;
  private isOnline = true;
  private countTimer = 0;

  constructor(private readonly actions: BoxActions) {
    this.count.hidden = apiKey() !== null; // each count is a request, and a key may have a limit of them
    this.newest.addEventListener("click", () => actions.newest());
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.field.addEventListener("input", () => this.onInput());
    const submit = (event: Event): void => {
      event.preventDefault();
      this.submit();
    };
    this.element = h("div", { class: "box" }, this.newest,
      h("form", { onsubmit: submit },
        h("label", { class: "vh", for: "message" }, t("chat.message")), this.field,
        h("div", { class: "ft" },
          h("span", { id: "box-count" }, this.count, " ", this.context),
          h("button", { class: "q list-open", type: "button", onclick: () => actions.openList() }, t("chat.conversations")),
          h("button", { class: "q drawer-open", type: "button", onclick: () => actions.openDrawer() }, t("chat.parameters")), this.sendButton)));
  }

  focus(): void {
    if (matchMedia("(pointer: fine)").matches) this.field.focus({ preventScroll: true });
  }

  show(isBusy: boolean, context: string): void {
    this.isBusy = isBusy;
    this.context.textContent = context;
    this.sendButton.textContent = isBusy ? t("chat.stop") : t("chat.send");
    this.enable();
  }

  setOnline(isOnline: boolean): void {
    this.isOnline = isOnline;
    this.enable();
  }

  setBehind(isBehind: boolean): void {
    this.newest.hidden = !isBehind;
  }

  private enable(): void {
    this.sendButton.disabled = !this.isBusy && (!this.isOnline || this.field.value.trim() === "");
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!this.isBusy) this.submit();
  }

  private submit(): void {
    if (this.isBusy) return this.actions.stop();
    const text = this.field.value.trim();
    if (text === "" || !this.isOnline) return;
    this.field.value = "";
    this.onInput();
    this.actions.send(text);
  }

  private onInput(): void {
    this.enable();
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight, innerHeight / 3)}px`;
    clearTimeout(this.countTimer);
    if (this.count.hidden) return;
    this.countTimer = window.setTimeout(() => void this.countTokens(), countDelayMs);
  }

  private async countTokens(): Promise<void> {
    const text = this.field.value;
    if (text === "") return void (this.count.textContent = "0");
    try {
      const answer = await call<{ count: number }>("POST", "/tokenize", { prompt: text, add_special_tokens: false });
      if (this.field.value === text) this.count.textContent = num(answer.count);
    } catch {
      this.count.textContent = "?"; // the same fault will be told when the message is sent
    }
  }
}
