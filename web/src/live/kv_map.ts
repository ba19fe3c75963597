import { fill, h } from "../dom";
import { num, t, type TextKey } from "../i18n";
import { megabytes } from "./figures";
import { layout } from "./scale";
import { allBlocks, type Snapshot } from "./snapshot";

type Mark = "o" | "p" | "s" | "c" | ".";

const marks: { mark: Mark; name: TextKey }[] = [
  { mark: "o", name: "live.kv.own" },
  { mark: "p", name: "live.kv.published" },
  { mark: "s", name: "live.kv.shared" },
  { mark: "c", name: "live.kv.kept" },
  { mark: ".", name: "live.kv.free" },
];

/** Every block of the KV cache as a cell; marks differ in shape as well as in colour. The key has the counts. */
export class KvMap {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { role: "img" });
  private readonly holder = h("div", { class: "kvm" }, this.canvas);
  private readonly key = h("span", { class: "end key" });
  private readonly hint = h("p");
  private readonly samples = new Map<Mark, HTMLCanvasElement>();
  private shown = "";

  constructor() {
    this.element = h("section", { class: "plate" }, h("header", {}, h("h2", {}, t("live.kv")), this.hint, this.key), this.holder);
    const redraw = (): void => {
      const map = this.shown;
      this.shown = "";
      this.draw(map);
      this.samples.forEach((canvas, mark) => drawSample(canvas, mark));
    };
    addEventListener("themechange", redraw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    new ResizeObserver(redraw).observe(this.holder);
  }

  show(snapshot: Snapshot): void {
    const blocks = allBlocks(snapshot);
    this.hint.textContent = t("live.kv.hint", { tokens: num(blocks.tokens), size: megabytes(blocks.bytes) });
    const counts = marks.map(({ mark, name }) => ({ mark, name, count: count(blocks.map, mark) }));
    fill(this.key, ...counts.map((item) => h("span", {}, this.sample(item.mark), t(item.name), " ", h("b", { class: "num" }, num(item.count)))));
    this.canvas.setAttribute("aria-label", counts.map((item) => `${t(item.name)} ${num(item.count)}`).join(", "));
    this.draw(blocks.map);
  }

  private sample(mark: Mark): HTMLCanvasElement {
    let canvas = this.samples.get(mark);
    if (!canvas) {
      canvas = h("canvas", { class: "sample", width: 20, height: 20, "aria-hidden": "true" });
      drawSample(canvas, mark);
      this.samples.set(mark, canvas);
    }
    return canvas;
  }

  private draw(map: string): void {
    const width = this.holder.clientWidth;
    if (width === 0 || map === this.shown) return;
    this.shown = map;
    const { cell, columns } = layout(map.length, width);
    const ratio = devicePixelRatio;
    const rows = Math.ceil(map.length / columns);
    this.canvas.width = width * ratio;
    this.canvas.height = Math.max(1, rows * cell * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${rows * cell}px`;
    const context = this.canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    const colors = palette();
    for (let idx = 0; idx < map.length; ++idx) {
      drawCell(context, colors, map[idx] as Mark, (idx % columns) * cell, Math.floor(idx / columns) * cell, cell - 1);
    }
  }
}

function count(map: string, mark: Mark): number {
  let sum = 0;
  for (const cell of map) if (cell === mark) ++sum;
  return sum;
}

interface Palette {
  own: string;
  published: string;
  shared: string;
  ink: string;
  control: string;
  line: string;
}

function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const color = (token: string): string => style.getPropertyValue(token).trim();
  return { own: color("--st-prefill"), published: color("--se-1"), shared: color("--se-2"), ink: color("--ink"), control: color("--ctl"), line: color("--line") };
}

function drawSample(canvas: HTMLCanvasElement, mark: Mark): void {
  const context = canvas.getContext("2d")!;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, 20, 20);
  context.scale(2, 2);
  drawCell(context, palette(), mark, 0, 0, 10);
}

function drawCell(context: CanvasRenderingContext2D, colors: Palette, mark: Mark, x: number, y: number, size: number): void {
  if (mark === "o" || mark === "p" || mark === "s") {
    context.fillStyle = mark === "o" ? colors.own : mark === "p" ? colors.published : colors.shared;
    context.fillRect(x, y, size, size);
  }
  if (mark === "s") frame(context, colors.ink, x, y, size, 1.5);
  if (mark === ".") frame(context, colors.line, x, y, size, 1);
  if (mark === "c") hatch(context, colors.control, x, y, size);
}

function frame(context: CanvasRenderingContext2D, color: string, x: number, y: number, size: number, width: number): void {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.strokeRect(x + width / 2, y + width / 2, size - width, size - width);
}

function hatch(context: CanvasRenderingContext2D, color: string, x: number, y: number, size: number): void {
  frame(context, color, x, y, size, 1);
  context.beginPath();
  for (const share of [0.5, 1, 1.5]) {
    const at = share * size;
    context.moveTo(x + Math.max(0, at - size), y + Math.min(size, at));
    context.lineTo(x + Math.min(size, at), y + Math.max(0, at - size));
  }
  context.lineWidth = 0.8;
  context.stroke();
}
