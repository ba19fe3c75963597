import { fill, h, styled } from "../dom";
import { num, t } from "../i18n";
import { cellBar, percent, plate, segmented, swatch } from "./figures";
import { stepAt } from "./document";
import { pieceText, tokenText } from "./pieces_of_text";
import { arrows, type Plate, type Scene } from "./scene";

const hoverMs = 80;
const shownCandidates = 7;

/** Plate 2: the tokens of prompt and answer, and the candidates of the one that is looked at. */
export class TokensPlate implements Plate {
  readonly element: HTMLElement;
  readonly popover = h("div", { id: "pop", role: "tooltip" });
  private readonly buttons: HTMLButtonElement[];
  private timer = 0;
  private isPinned = false;

  constructor(private readonly scene: Scene) {
    const { doc } = scene;
    this.buttons = doc.tokens.map((_, position) => this.button(position));
    const prompt = this.strip(this.buttons.slice(0, doc.prompt_tokens), t("xray.tokens.prompt"));
    const answer = this.strip(this.buttons.slice(doc.prompt_tokens), t("xray.tokens.answer"));
    const ids = segmented([["ids", t("xray.tokens.ids")], ["pieces", t("xray.tokens.pieces")]], "ids", (name) => [prompt, answer].forEach((strip) => strip.classList.toggle("noid", name === "pieces")));
    const key = h("span", { class: "key" }, h("span", {}, styled(swatch("c-decode line"), {}), t("xray.tokens.probability")));
    this.popover.hidden = true;
    this.element = plate(2, "p2", t("xray.tokens"), t("xray.tokens.hint"), h("span", { class: "end" }, key, ids),
      h("h3", {}, t("xray.tokens.prompt"), " ", h("span", { class: "mut num" }, `input_ids [1, ${num(doc.prompt_tokens)}]`)), prompt,
      h("h3", {}, t("xray.tokens.answer"), " ", h("span", { class: "mut num" }, num(doc.tokens.length - doc.prompt_tokens))), answer, this.popover);
    this.show();
    scene.addEventListener("move", () => this.show());
  }

  figure(): string {
    const { doc } = this.scene;
    return `${num(doc.prompt_tokens)} + ${num(doc.tokens.length - doc.prompt_tokens)}`;
  }

  private button(position: number): HTMLButtonElement {
    const { doc } = this.scene;
    const token = doc.tokens[position]!;
    const step = stepAt(doc, position);
    const line = step ? styled(h("u"), { width: `${100 * step.probability}%` }) : null;
    const button = h("button", { type: "button", class: token.special ? "sp" : null, "aria-pressed": "false", tabindex: -1 }, ...tokenText(token), h("small", {}, token.id), line);
    button.dataset["position"] = String(position);
    return button;
  }

  private strip(buttons: HTMLButtonElement[], label: string): HTMLElement {
    const strip = h("div", { class: "strip", role: "group", "aria-label": label }, ...buttons);
    const positionOf = (event: Event): number | null => {
      const button = (event.target as Element).closest<HTMLElement>("button[data-position]");
      return button ? Number(button.dataset["position"]) : null;
    };
    strip.addEventListener("click", (event) => this.chosen(positionOf(event)));
    strip.addEventListener("mouseover", (event) => this.hover(positionOf(event)));
    strip.addEventListener("mouseleave", () => this.leave());
    strip.addEventListener("focusin", (event) => this.peek(positionOf(event)));
    strip.addEventListener("focusout", () => this.leave());
    strip.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
    arrows(strip, { x: 1 }, (step) => this.go(this.focused() + step), (last) => this.go(last ? this.buttons.length - 1 : 0));
    return strip;
  }

  private focused(): number {
    const place = this.buttons.indexOf(document.activeElement as HTMLButtonElement);
    return place < 0 ? this.scene.position : place;
  }

  private go(position: number): void {
    this.isPinned = false;
    this.scene.moveTo(position);
    this.buttons[this.scene.position]!.focus();
  }

  /** Enter is a click as well: it pins what is shown. */
  private chosen(position: number | null): void {
    if (position === null) return;
    this.scene.moveTo(position);
    this.isPinned = !this.isPinned;
    this.peek(position);
  }

  private hover(position: number | null): void {
    clearTimeout(this.timer);
    if (position !== null && !this.isPinned) this.timer = window.setTimeout(() => this.peek(position), hoverMs);
  }

  private leave(): void {
    clearTimeout(this.timer);
    if (!this.isPinned) this.popover.hidden = true;
  }

  private close(): void {
    this.isPinned = false;
    this.popover.hidden = true;
  }

  private peek(position: number | null): void {
    const step = position === null ? null : stepAt(this.scene.doc, position);
    this.popover.hidden = step === null;
    if (position === null || !step) return;
    const rows = step.candidates.slice(0, shownCandidates).map((candidate) =>
      h("tr", { class: candidate.id === step.id ? "win" : null }, h("td", { class: "mono" }, ...pieceText(candidate.piece)), h("td", { class: "b" }, cellBar(candidate.probability, "c-decode")), h("td", { class: "n" }, percent(candidate.probability))));
    fill(this.popover, h("p", { class: "mut" }, t("xray.tokens.chosen", { position: num(position), rank: num(step.rank + 1) })), h("table", {}, h("tbody", {}, ...rows)));
    this.place(this.buttons[position]!);
  }

  private place(button: HTMLElement): void {
    const at = button.getBoundingClientRect();
    const around = this.element.getBoundingClientRect();
    const left = Math.min(at.left, innerWidth - 300) - around.left;
    styled(this.popover, { left: `${Math.max(0, left)}px`, top: `${at.bottom + 6 - around.top}px` });
  }

  private show(): void {
    this.buttons.forEach((button, position) => {
      const isCurrent = position === this.scene.position;
      if ((button.getAttribute("aria-pressed") === "true") !== isCurrent) button.setAttribute("aria-pressed", String(isCurrent));
    });
    this.rove();
  }

  /** Each strip is one tab stop: the cursor's token, or its first. */
  private rove(): void {
    const { doc, position } = this.scene;
    const others = this.scene.isGenerated() ? 0 : doc.prompt_tokens;
    this.buttons.forEach((button, idx) => (button.tabIndex = idx === position || idx === others ? 0 : -1));
  }
}
