import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { fill, h } from "../dom";
import { num, t, type TextKey } from "../i18n";
import { niceTop } from "./scale";
import { allBlocks, type Columns, type Snapshot } from "./snapshot";

interface Line {
  name: string;
  isDashed?: boolean;
  color: string; // a token
}

interface Plot {
  title: TextKey;
  unit: string;
  decimals: number;
  lines: Line[];
  data: (snapshot: Snapshot, kv: KvHistory) => (number | null)[][];
}

const seconds = 120;
const height = 170;

/** What the server does not keep: blocks held and kept, a value a second, since this page was opened. */
class KvHistory {
  readonly held: (number | null)[] = Array<null>(seconds).fill(null);
  readonly kept: (number | null)[] = Array<null>(seconds).fill(null);
  private time = 0;

  remember(snapshot: Snapshot): void {
    const { in_use, cached } = allBlocks(snapshot);
    const missed = Math.min(seconds, this.time === 0 ? 0 : Math.max(0, snapshot.time - this.time));
    for (const [values, value] of [[this.held, in_use], [this.kept, cached]] as const) {
      for (let idx = 0; idx < missed; ++idx) {
        values.shift();
        values.push(null);
      }
      values[seconds - 1] = value;
    }
    this.time = snapshot.time;
  }
}

const inMs = (values: (number | null)[]): (number | null)[] => values.map((value) => (value === null ? null : 1000 * value));
const percentiles = (columns: Columns, name: "itl" | "ttft"): (number | null)[][] => [inMs(columns[`${name}_p50_s`]), inMs(columns[`${name}_p99_s`])];
const p50: Line = { name: "p50", color: "--accent" };
const p99: Line = { name: "p99", color: "--muted", isDashed: true };

const all: Plot[] = [
  { title: "live.plot.output", unit: "", decimals: 0, lines: [{ name: "tok/s", color: "--accent" }], data: ({ seconds: columns }) => [columns.output_tokens] },
  { title: "live.plot.itl", unit: "ms", decimals: 1, lines: [p50, p99], data: ({ seconds: columns }) => percentiles(columns, "itl") },
  { title: "live.plot.ttft", unit: "ms", decimals: 0, lines: [p50, p99], data: ({ seconds: columns }) => percentiles(columns, "ttft") },
  { title: "live.plot.kv", unit: "", decimals: 0, lines: [{ name: t("live.plot.kv.held"), color: "--accent" }, { name: t("live.plot.kv.kept"), color: "--muted", isDashed: true }], data: (_, kv) => [kv.held, kv.kept] },
];

/** Two minutes of the server, second by second; under them the same as a table. */
export class LivePlots {
  readonly element: HTMLElement;
  private readonly kv = new KvHistory();
  private readonly parts: Part[] = all.map((plot) => new Part(plot));
  private readonly table = h("tbody");
  private readonly details: HTMLDetailsElement;
  private shown: Snapshot | null = null;

  constructor() {
    const heads = all.flatMap(({ title, lines, unit }) => lines.map(({ name }) => `${t(title)} ${lines.length > 1 ? name : ""} ${unit}`.trim()));
    this.details = h("details", { class: "astable" }, h("summary", {}, t("live.astable")),
      h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { class: "n" }, t("live.ago")), ...heads.map((head) => h("th", { class: "n" }, head)))), this.table)));
    this.element = h("div", {}, h("div", { class: "g2" }, ...this.parts.map((part) => part.element)), this.details);
    const redraw = (): void => {
      this.parts.forEach((part) => part.restyle());
      if (this.shown) this.show(this.shown);
    };
    addEventListener("themechange", redraw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    new ResizeObserver(() => this.parts.forEach((part) => part.resize())).observe(this.element);
  }

  remember(snapshot: Snapshot): void {
    this.kv.remember(snapshot);
  }

  show(snapshot: Snapshot): void {
    this.shown = snapshot;
    const columns = this.parts.map((part) => part.show(snapshot, this.kv));
    if (this.details.open) this.fillTable(columns.flat());
  }

  /** A row each ten seconds. */
  private fillTable(columns: (number | null)[][]): void {
    const decimals = all.flatMap((plot) => plot.lines.map(() => plot.decimals));
    const rows = [];
    for (let idx = seconds - 1; idx >= 0; idx -= 10) {
      rows.push(h("tr", {}, h("td", { class: "n" }, `${seconds - idx} s`),
        ...columns.map((values, column) => h("td", { class: "n" }, text(values[idx] ?? null, decimals[column]!)))));
    }
    fill(this.table, ...rows);
  }
}

const text = (value: number | null, decimals: number): string => (value === null ? "–" : num(value, decimals));

class Part {
  readonly element: HTMLElement;
  private readonly values;
  private readonly holder = h("div", { class: "holder", role: "img" });
  private chart: uPlot | null = null;

  constructor(private readonly plot: Plot) {
    this.values = plot.lines.map(() => h("b", { class: "num" }));
    const key = plot.lines.map((line, idx) => h("span", {}, h("i", { class: line.isDashed ? "stroke dashed" : "stroke" }), line.name + " ", this.values[idx]));
    this.element = h("figure", { class: "plot" }, h("figcaption", {}, h("span", {}, t(plot.title)), h("span", { class: "key" }, ...key)), this.holder);
  }

  show(snapshot: Snapshot, kv: KvHistory): (number | null)[][] {
    const columns = this.plot.data(snapshot, kv);
    const latest = columns.map((values) => values.findLast((value) => value !== null) ?? null);
    latest.forEach((value, idx) => (this.values[idx]!.textContent = `${text(value, this.plot.decimals)} ${this.plot.unit}`.trim()));
    const label = this.plot.lines.map((line, idx) => `${line.name} ${text(latest[idx]!, this.plot.decimals)} ${this.plot.unit}`.trim()).join(", ");
    this.holder.setAttribute("aria-label", `${t(this.plot.title)}: ${label}`);
    const data = [Array.from({ length: seconds }, (_, idx) => idx - seconds), ...columns] as uPlot.AlignedData;
    if (this.chart) this.chart.setData(data);
    else this.chart = new uPlot(this.options(), data, this.holder);
    return columns;
  }

  resize(): void {
    if (this.chart && this.holder.clientWidth > 0 && this.chart.width !== this.holder.clientWidth) this.chart.setSize({ width: this.holder.clientWidth, height });
  }

  restyle(): void {
    this.chart?.destroy();
    this.chart = null;
  }

  private options(): uPlot.Options {
    const style = getComputedStyle(document.documentElement);
    const color = (token: string): string => style.getPropertyValue(token).trim();
    const font = `10.5px ${color("--mono")}`;
    const axis = { stroke: color("--muted"), font, ticks: { show: false }, grid: { stroke: color("--line"), width: 1 } };
    return {
      width: this.holder.clientWidth || 600,
      height,
      legend: { show: false },
      cursor: { show: false },
      padding: [8, 0, 0, 24],
      scales: { x: { time: false, range: [-seconds, 0] }, y: { range: (_, __, max) => [0, niceTop(max)] } },
      axes: [
        { ...axis, grid: { show: false }, size: 24, splits: [-120, -90, -60, -30, 0], values: (_, splits) => splits.map((value) => (value === 0 ? t("live.now") : `${value} s`)) },
        { ...axis, side: 1, size: 46, splits: (_, __, ___, max) => [0, max / 2, max], values: (_, splits) => splits.map((value) => num(value, value > 0 && value < 10 ? 1 : 0)) },
      ],
      series: [{}, ...this.plot.lines.map((line) => ({ stroke: color(line.color), width: 1.4, spanGaps: true, points: { show: false }, ...(line.isDashed ? { dash: [4, 3] } : {}) }))],
    };
  }
}
