import { fill, h, styled, svg } from "../dom";
import { ms, num, t } from "../i18n";
import { axis, cellBar, head, milli, percent, plate, segment, swatch } from "./figures";
import { colourOf, pieces, stageRows, stepTimes, within, type Piece, type StageRow } from "./pieces";
import type { Timeline, XrayDocument } from "./document";
import type { Plate, Scene } from "./scene";

const mostSegments = 400;
const smallest = 0.002; // of the bar: what is less is drawn with its neighbours

/** Plate 1: the whole request to scale, loupes on the first token and on one step, and the ledger. */
export class TimePlate implements Plate {
  readonly element: HTMLElement;
  private readonly whole = h("div", { class: "bar", role: "img" });
  private readonly guides = svg("svg", { class: "loupe", viewBox: "0 0 1000 26", preserveAspectRatio: "none", "aria-hidden": "true" });
  private readonly step = h("div");
  private readonly all: Piece[];
  private readonly times: { start: number; end: number }[];

  constructor(private readonly scene: Scene) {
    const { doc } = scene;
    this.all = pieces(doc.timeline);
    this.times = stepTimes(doc);
    this.element = plate(1, "p1", t("xray.time"), t("xray.time.hint"), null,
      this.whole, axis(doc.timeline.wall_s, innerWidth < 600 ? 5 : 10), this.guides,
      h("div", { class: "two" }, this.firstLoupe(), this.step), h("div", { class: "scroll" }, ledger(doc.timeline, doc)));
    this.whole.setAttribute("aria-label", timelineLabel(doc.timeline));
    this.whole.addEventListener("click", (event) => this.clicked(event));
    this.show();
    scene.addEventListener("move", () => this.show());
  }

  figure(): string {
    return ms(this.scene.doc.timeline.wall_s);
  }

  private shownStep(): number {
    return Math.max(1, this.scene.position - this.scene.doc.prompt_tokens);
  }

  private firstEnd(): number {
    return this.times[1]?.start ?? this.scene.doc.timeline.wall_s;
  }

  private firstLoupe(): HTMLElement {
    const end = this.firstEnd();
    return h("div", {}, h("p", {}, t("xray.time.first"), ", ", h("b", {}, `${milli(end)} ms`)), loupe(this.all, 0, end), axis(end, 6));
  }

  private show(): void {
    const step = this.shownStep();
    const time = this.times[step];
    const wall = this.scene.doc.timeline.wall_s;
    fill(this.whole, ...wholeBar(this.all, this.times, wall, step));
    if (!time) return fill(this.step);
    fill(this.step, h("p", {}, t("xray.time.step"), " ", h("b", {}, num(step)), ", ", h("b", {}, `${milli(time.end - time.start)} ms`)), loupe(this.all, time.start, time.end), axis(time.end - time.start, 4));
    const x = (at: number): number => (1000 * at) / wall;
    this.guides.replaceChildren(svg("path", { d: `M0 0V26M${x(this.firstEnd())} 0L570 26` }), svg("path", { d: `M${x(time.start)} 0L630 26M${x(time.end)} 0L1000 26` }));
  }

  private clicked(event: MouseEvent): void {
    const step = (event.target as HTMLElement).dataset["step"];
    if (step !== undefined) this.scene.moveTo(this.scene.doc.prompt_tokens + Number(step));
  }
}

function wholeBar(all: Piece[], times: { start: number; end: number }[], wall: number, current: number): HTMLElement[] {
  const firstEnd = times[1]?.start ?? wall;
  const lastEnd = times.at(-1)?.end ?? wall;
  const each = Math.ceil(Math.max(1, times.length - 1) / mostSegments);
  const parts = merged(within(all, 0, firstEnd), wall).map((piece) => pieceSegment(piece, wall));
  for (let step = 1; step < times.length; step += each) {
    const last = Math.min(times.length, step + each) - 1;
    const [start, end] = [times[step]!.start, times[last]!.end];
    const isCurrent = current >= step && current <= last;
    const part = segment(`c-decode${isCurrent ? " hi" : ""}`, (end - start) / wall, `${t("xray.time.step")} ${step === last ? step : `${step}–${last}`} ${milli(end - start, 3)} ms`);
    part.dataset["step"] = String(step);
    parts.push(part);
  }
  return [...parts, ...merged(within(all, lastEnd, wall), wall).map((piece) => pieceSegment(piece, wall))];
}

/** Pieces too small to be seen as one, in the colour of the longest among them. */
function merged(all: Piece[], wall: number): Piece[] {
  const result: Piece[] = [];
  let longest = 0;
  for (const piece of all) {
    const last = result.at(-1);
    const size = piece.end - piece.start;
    if (!last || size >= smallest * wall || last.end - last.start >= smallest * wall) {
      result.push({ ...piece });
      longest = size;
      continue;
    }
    if (size > longest) Object.assign(last, { name: piece.name, stage: piece.stage, span: piece.span });
    longest = Math.max(longest, size);
    last.end = piece.end;
  }
  return result;
}

function pieceSegment(piece: Piece, total: number): HTMLElement {
  const size = piece.end - piece.start;
  return segment(piece.span ? `c-${colourOf(piece)}` : "no", size / total, `${piece.name} ${milli(size, 3)} ms`);
}

function loupe(all: Piece[], start: number, end: number): HTMLElement {
  const parts = within(all, start, end);
  const total = end - start;
  const label = parts.map((piece) => `${piece.name} ${milli(piece.end - piece.start, 3)} ms`).join(", ");
  return h("div", { class: "bar", role: "img", "aria-label": label }, ...merged(parts, total).map((piece) => pieceSegment(piece, total)));
}

export function timelineLabel(timeline: Timeline): string {
  return [`${milli(timeline.wall_s)} ms`, ...stageRows(timeline).map((row) => `${row.name} ${milli(row.seconds)} ms`)].join(", ");
}

export function ledger(timeline: Timeline, doc: XrayDocument | null): HTMLElement {
  const rows = stageRows(timeline);
  const most = Math.max(...rows.map((row) => row.seconds), 1e-9);
  const wall = timeline.wall_s;
  const unaccounted = wall - rows.reduce((sum, row) => sum + row.seconds, 0);
  return h("table", { id: "ledger" },
    head([[t("xray.time.stage")], [t("xray.time.spans"), "n"], [t("xray.time.start"), "n s0"], [t("xray.time.time"), "n"], [t("xray.time.share"), "n"], ["", "b"], [t("xray.time.what"), "w"]]),
    h("tbody", {}, ...rows.map((row) => ledgerRow(row, wall, most, doc)),
      h("tr", {}, h("td", {}, styled(h("i", { class: "sw hol" }), { "--c": "var(--ctl)" }), "unaccounted"), h("td"), h("td", { class: "s0" }), h("td", { class: "n" }, milli(unaccounted)), h("td", { class: "n" }, percent(unaccounted / wall, 2)), h("td", { class: "b" }), h("td", { class: "w mut" }, t("xray.time.unaccounted"))),
      h("tr", { class: "sum" }, h("td", {}, "wall"), h("td"), h("td", { class: "n s0" }, milli(0)), h("td", { class: "n" }, milli(wall)), h("td", { class: "n" }, percent(1, 2)), h("td", { class: "b" }), h("td", { class: "w mut" }, t("xray.time.wall")))));
}

function ledgerRow(row: StageRow, wall: number, most: number, doc: XrayDocument | null): HTMLElement {
  const colour = `c-${colourOf(row)}`;
  return h("tr", {}, h("td", {}, swatch(colour), row.name), h("td", { class: "n" }, num(row.spans)), h("td", { class: "n s0" }, milli(row.start)), h("td", { class: "n" }, milli(row.seconds)),
    h("td", { class: "n" }, percent(row.seconds / wall, 2)), h("td", { class: "b" }, row.seconds > 0 ? cellBar(row.seconds / most, colour) : null), h("td", { class: "w mut" }, [whatItDid(row, doc), covered(row)].filter(Boolean).join("; ")));
}

function covered({ covered: seconds }: StageRow): string {
  return seconds > 5e-6 ? t("xray.time.covered", { ms: milli(seconds) }) : "";
}

function whatItDid({ name }: StageRow, doc: XrayDocument | null): string {
  if (!doc) return "";
  const prompt = doc.prompt_tokens;
  const cached = doc.usage.prompt_tokens_details.cached_tokens;
  switch (name) {
    case "tokenize":
      return t("xray.what.tokenize", { tokens: num(prompt) });
    case "lookup":
      return t("xray.what.lookup", { cached: num(cached), prompt: num(prompt) });
    case "prefill":
      return t("xray.what.prefill", { rows: num(prompt - cached) });
    case "decode":
      return doc.layers.decode ? t("xray.what.decode", { steps: num(doc.steps.length - 1), mb: num(layerBytes(doc) / 1e6, 1) }) : "";
    case "sample":
      return doc.steps[0]?.chain.map((link) => link.name).join(", ") ?? "";
    case "write":
      return doc.stream ? t("xray.what.write", { events: num(doc.stream.events), writes: num(doc.stream.writes), kb: num(doc.stream.bytes / 1000, 1) }) : "";
    default:
      return "";
  }
}

const layerBytes = ({ layers }: XrayDocument): number => (layers.decode ? layers.decode.layers.reduce((sum, layer) => sum + layer.bytes, layers.decode.head.bytes) : 0);
