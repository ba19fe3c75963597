import { fill, h, type Child } from "../dom";
import { num, t } from "../i18n";
import { cellBar, head, muted, percent, plate, short } from "./figures";
import { stepAt, type Step } from "./document";
import { pieceText } from "./pieces_of_text";
import type { Plate, Scene } from "./scene";
import { samplerNames, type SamplerName } from "./sampler";
import { computed, recorded, type Shown, type ShownRow } from "./shown_step";
import { MissingPart } from "./source";

const fetchAfterMs = 60; // a cursor on its way fetches nothing

interface Slider {
  name: SamplerName;
  min: number;
  max: number;
  step: number;
  decimals: number;
}

const sliders: Slider[] = [
  { name: "temperature", min: 0, max: 2, step: 0.05, decimals: 2 },
  { name: "top_k", min: 0, max: 200, step: 1, decimals: 0 },
  { name: "top_p", min: 0.05, max: 1, step: 0.01, decimals: 2 },
  { name: "min_p", min: 0, max: 0.5, step: 0.01, decimals: 2 },
];

/** Plate 7: the sampler over the stored logits of one step. A slider moves, the figures follow in the same frame. */
export class SamplerPlate implements Plate {
  readonly element: HTMLElement;
  private readonly inputs = new Map<SamplerName, { input: HTMLInputElement; output: HTMLElement; slider: Slider }>();
  private readonly chain = h("ol", { class: "chain" });
  private readonly table = h("table", { id: "cands" });
  private readonly why = h("p", { class: "note", id: "why", "aria-live": "polite" });
  private readonly note = h("div");
  private readonly reset = h("button", { type: "button", onclick: () => this.scene.setValues(this.scene.ownValues()) }, t("xray.sampler.reset"));
  private shown: Shown | null = null;
  private timer = 0;

  constructor(private readonly scene: Scene, private readonly changed: () => void) {
    const form = h("form", { onsubmit: (event: Event) => event.preventDefault() }, ...sliders.map((slider) => this.row(slider)), this.why);
    this.element = plate(7, "p7", t("xray.sampler"), t("xray.sampler.hint"), this.reset,
      h("div", { class: "samp" }, form, h("div", {}, this.chain, h("div", { class: "scroll" }, this.table), this.note)));
    scene.addEventListener("values", () => this.show());
    scene.addEventListener("move", () => this.moved());
    this.moved();
  }

  figure(): string {
    return this.shown ? t("xray.sampler.of", { count: short(this.shown.numKept), all: short(this.scene.doc.shape.vocab_size) }) : "";
  }

  private row(slider: Slider): HTMLElement {
    const { name, min, step } = slider;
    const max = Math.max(slider.max, this.scene.ownValues()[name]);
    const input = h("input", { type: "range", id: `x-${name}`, min, max, step });
    const output = h("output", { for: `x-${name}` });
    input.addEventListener("input", () => this.scene.setValues({ ...this.scene.values, [name]: Number(input.value) }));
    this.inputs.set(name, { input, output, slider });
    return h("div", { class: "param" }, h("label", { for: `x-${name}` }, name), output, input);
  }

  /** The step whose choice the cursor is on; in the prompt that of the first token. */
  private step(): Step | null {
    const { doc, position } = this.scene;
    return stepAt(doc, Math.max(position, doc.prompt_tokens));
  }

  private moved(): void {
    clearTimeout(this.timer);
    this.show();
    const step = this.step();
    if (!step || this.scene.source.heldLogits(step.step)) return;
    this.timer = window.setTimeout(() => void this.load(step), fetchAfterMs);
  }

  private async load(step: Step): Promise<void> {
    try {
      await this.scene.source.logits(step.step);
      if (this.step() === step) this.show();
    } catch (error) {
      if (this.step() === step) fill(this.note, error instanceof MissingPart ? muted(error.message) : h("p", { class: "note bad", role: "alert" }, error instanceof Error ? error.message : String(error)));
    }
  }

  private show(): void {
    const step = this.step();
    if (!step) return fill(this.note, muted(t("xray.sampler.none")));
    const logits = this.scene.source.heldLogits(step.step);
    const isOwn = this.scene.changedValues().length === 0;
    const others = step.chain.map((link) => link.name).filter((name) => !(samplerNames as readonly string[]).includes(name) && name !== "logits");
    const useRecorded = !logits || (isOwn && others.length > 0);
    this.shown = useRecorded ? recorded(step, this.scene.doc) : computed(step, this.scene.doc, logits, this.scene.values);
    this.showValues(this.shown, logits !== null);
    this.reset.disabled = isOwn;
    fill(this.chain, ...this.shown.links.map(([name, value]) => h("li", {}, h("span", {}, name), h("b", {}, value))));
    fill(this.table, head([[t("xray.sampler.candidate")], ["id", "n id"], ["logit", "n lg"], [t("xray.sampler.before"), "n"], ["", "b"], [t("xray.sampler.after"), "n"], ["", "b"]]), h("tbody", {}, ...this.shown.rows.map((row) => candidateRow(row)), othersRow(this.shown)));
    fill(this.why, ...whyWords(this.shown, step));
    fill(this.note, ...notes(others, isOwn, logits !== null && !logits.isWhole));
    this.changed();
  }

  private showValues(shown: Shown, isReady: boolean): void {
    for (const [name, { input, output, slider }] of this.inputs) {
      const value = this.scene.values[name];
      const text = num(value, Math.max(slider.decimals, decimalsOf(value)));
      if (Number(input.value) !== value) input.value = String(value);
      input.disabled = !isReady;
      output.textContent = name === "top_k" && value === 0 ? t("xray.sampler.off") : text;
      input.setAttribute("aria-valuetext", t("xray.sampler.left", { value: text, count: num(shown.numKept) }));
    }
  }
}

const decimalsOf = (value: number): number => Math.min(4, (String(value).split(".")[1] ?? "").length);

function candidateRow(row: ShownRow): HTMLElement {
  const isCut = row.after === 0;
  return h("tr", { class: [isCut ? "cut" : "", row.isWinner ? "win" : ""].join(" ").trim() || null },
    h("td", {}, ...(row.piece === null ? [h("span", { class: "mut" }, `#${row.id}`)] : pieceText(row.piece))), h("td", { class: "n id mut" }, row.id), h("td", { class: "n lg" }, num(row.logit, 2)), h("td", { class: "n" }, percent(row.before)),
    h("td", { class: "b" }, cellBar(row.before, "", "var(--ctl)")), h("td", { class: "n" }, isCut ? (row.cutBy ?? "") : percent(row.after)), h("td", { class: "b" }, isCut ? null : cellBar(row.after)));
}

function othersRow({ others }: Shown): HTMLElement | null {
  if (others.count <= 0) return null;
  return h("tr", { class: "cut others" }, h("td", {}, t("xray.sampler.others")), h("td", { class: "n id" }, num(others.count)), h("td", { class: "lg" }), h("td", { class: "n" }, percent(others.before)), h("td"), h("td", { class: "n" }, others.after > 0 ? percent(others.after) : ""), h("td"));
}

function whyWords(shown: Shown, step: Step): Child[] {
  const { winner, uniform } = shown;
  if (!winner) return [t(uniform === null ? "xray.sampler.nodraw" : "xray.sampler.wait")];
  const name = h("span", { class: "mono" }, ...(winner.piece === null ? [`#${winner.id}`] : pieceText(winner.piece)));
  const same = winner.id === step.id ? t("xray.sampler.same") : t("xray.sampler.differs");
  const own = winner.id === step.id ? [] : [" ", h("span", { class: "mono" }, ...pieceText(step.candidates.find(({ id }) => id === step.id)?.piece ?? `#${step.id}`))];
  if (uniform === null || !winner.interval) return [name, " ", t("xray.sampler.greedy"), " ", same, ...own];
  const [low, high] = winner.interval;
  return ["u = ", h("span", { class: "num" }, num(uniform, 4)), " ", t("xray.sampler.falls"), " ", h("span", { class: "num" }, `[${num(low, 4)}, ${num(high, 4)})`), " ", t("xray.sampler.shareof"), " ", name, t("xray.stop"), " ", same, ...own];
}

function notes(others: string[], isOwn: boolean, isPart: boolean): Child[] {
  const lines: Child[] = [];
  if (others.length > 0 && !isOwn) lines.push(h("p", { class: "note warn" }, t("xray.sampler.left_out", { names: others.join(", ") })));
  if (isPart) lines.push(muted(t("xray.file.part")));
  return lines;
}
