import { fill, h } from "../dom";
import { num, t } from "../i18n";
import { milli, percent } from "./figures";
import { stepAt } from "./document";
import { stepTimes } from "./pieces";
import { bytesOf, tokenText } from "./pieces_of_text";
import type { Scene } from "./scene";

export interface Entry {
  number: number;
  id: string; // of the plate
  name: string;
  figure: () => string;
}

const shownBytes = 4;

/** Contents with the key figure of each plate, then the token under the cursor. */
export class Rail {
  readonly element: HTMLElement;
  private readonly figures: { element: HTMLElement; figure: () => string }[] = [];
  private readonly piece = h("span", { class: "tok", id: "ct" });
  private readonly facts = h("dl");
  private readonly times: { start: number; end: number }[];

  constructor(private readonly scene: Scene, entries: Entry[]) {
    this.times = stepTimes(scene.doc);
    const step = (by: number, name: string, sign: string, key: string): HTMLElement => h("button", { type: "button", "aria-label": name, "aria-keyshortcuts": key, onclick: () => scene.moveTo(scene.position + by) }, sign);
    this.element = h("aside", { class: "rail" }, h("nav", { "aria-label": t("xray.contents") }, ...entries.map((entry) => this.link(entry))),
      h("section", { class: "cur", "aria-live": "polite", "aria-label": t("xray.cursor") }, h("h3", { class: "mut" }, t("xray.cursor")), this.piece, this.facts,
        h("div", { class: "bt" }, step(-1, t("xray.cursor.previous"), "←", "ArrowLeft"), step(1, t("xray.cursor.next"), "→", "ArrowRight"))));
    this.show();
    scene.addEventListener("move", () => this.show());
  }

  refresh(): void {
    this.figures.forEach(({ element, figure }) => (element.textContent = figure()));
  }

  private link({ number, id, name, figure }: Entry): HTMLElement {
    const value = h("span", { class: "v num" }, figure());
    this.figures.push({ element: value, figure });
    const go = (event: Event): void => {
      event.preventDefault();
      toPlate(id);
    };
    return h("a", { href: `#${id}`, onclick: go }, h("span", { class: "num" }, number), h("span", {}, name), value);
  }

  private show(): void {
    const { doc, position } = this.scene;
    const token = doc.tokens[position];
    if (!token) return;
    const step = stepAt(doc, position);
    const bytes = [...bytesOf(token)].map((byte) => byte.toString(16).padStart(2, "0"));
    const time = step ? this.times[step.step] : undefined;
    const facts: [string, string][] = [
      [t("xray.cursor.position"), `${num(position)} ${t(step ? "xray.cursor.generated" : "xray.cursor.prompt")}`],
      ["id", num(token.id).replaceAll(",", "")],
      [t("xray.cursor.bytes"), bytes.slice(0, shownBytes).join(" ") + (bytes.length > shownBytes ? " …" : "")],
      [t("xray.cursor.probability"), step ? percent(step.probability) : t("xray.cursor.given")],
      [t("xray.time.step"), !step ? "" : step.step === 0 ? "prefill" : time ? `${milli(time.end - time.start)} ms` : ""],
    ];
    fill(this.piece, ...tokenText(token));
    fill(this.facts, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }
}

export function toPlate(id: string): void {
  const plate = document.getElementById(id);
  plate?.scrollIntoView({ block: "start" });
  plate?.focus({ preventScroll: true });
}
