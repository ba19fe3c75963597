import { fill, h, styled } from "../dom";
import { num, t } from "../i18n";
import { niceTop } from "../live/scale";
import { errorNote } from "../shell";
import { csv } from "./csv";
import { usage, type Group, type Key, type UsageRow } from "./admin";

const days = 30;
const series = 6; // colours there are
const groups: Group[] = ["key", "model", "day"];
const dayMs = 86_400_000;
const isoDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

interface Band {
  name: string;
  byDay: Map<string, number>;
}

/** What the last thirty days took, by key, model or day: bars and a table that adds up. */
export class UsagePlate {
  readonly element: HTMLElement;
  private readonly figure = h("figure");
  private readonly table = h("div", { class: "scroll" });
  private readonly tabs = groups.map((group) => h("button", { onclick: () => void this.choose(group) }, t(`keys.by.${group}`)));
  private group: Group = "key";
  private keys: Key[] = [];
  private rows: UsageRow[] = [];

  constructor() {
    this.element = h("section", { class: "plate" },
      h("header", {}, h("h2", {}, t("keys.usage")), h("p", {}, t("keys.usage.days", { days })),
        h("span", { class: "end" }, h("span", { class: "seg", role: "group", "aria-label": t("keys.usage") }, ...this.tabs), h("button", { class: "sm", onclick: () => this.download() }, "CSV"))),
      h("div", { class: "g2" }, this.figure, this.table));
  }

  async load(keys: Key[]): Promise<void> {
    this.keys = keys;
    await this.choose(this.group);
  }

  private async choose(group: Group): Promise<void> {
    this.group = group;
    this.tabs.forEach((tab, idx) => tab.setAttribute("aria-pressed", String(groups[idx] === group)));
    const from = isoDay(Date.now() - (days - 1) * dayMs);
    try {
      this.rows = await usage(group, from);
      fill(this.table, usageTable(this.rows, group));
      fill(this.figure, ...bars(await this.bands(from)));
    } catch (error) {
      fill(this.table, errorNote(error));
    }
  }

  /** By key each of the busiest keys is a band of its own. */
  private async bands(from: string): Promise<Band[]> {
    const band = async (name: string, key?: string): Promise<Band> => {
      const rows = await usage("day", from, key);
      return { name, byDay: new Map(rows.map((row) => [row.day ?? "", row.total_tokens])) };
    };
    if (this.group !== "key") return [await band(t("keys.usage.all"))];
    const busiest = this.rows.filter((row) => row.key).sort((a, b) => b.total_tokens - a.total_tokens).slice(0, series);
    return Promise.all(busiest.map((row) => band(row.name ?? this.nameOf(row.key!), row.key!)));
  }

  private nameOf(id: string): string {
    return this.keys.find((key) => key.id === id)?.name ?? id;
  }

  private download(): void {
    const url = URL.createObjectURL(new Blob([csv(this.rows)], { type: "text/csv" }));
    h("a", { href: url, download: `usage-by-${this.group}.csv` }).click();
    URL.revokeObjectURL(url);
  }
}

function bars(bands: Band[]): HTMLElement[] {
  const today = Date.now();
  const shown = Array.from({ length: days }, (_, idx) => isoDay(today - (days - 1 - idx) * dayMs));
  const totals = shown.map((day) => bands.reduce((sum, band) => sum + (band.byDay.get(day) ?? 0), 0));
  const top = niceTop(Math.max(...totals));
  const color = (idx: number): string => `var(--se-${idx + 1})`;
  const column = (day: string, idx: number): HTMLElement => h("span", { title: `${day}: ${num(totals[idx]!)}` },
    ...bands.map((band, at) => styled(h("i"), { "--c": color(at), height: `${(100 * (band.byDay.get(day) ?? 0)) / top}%` })));
  const scale = (share: number): HTMLElement => styled(h("b", {}, short(top * (1 - share))), { top: `${100 * share}%` });
  const sum = totals.reduce((all, value) => all + value, 0);
  return [
    h("figcaption", { class: "key" }, ...bands.map((band, idx) => h("span", {}, styled(h("i", { class: "sw" }), { "--c": color(idx) }), band.name))),
    h("div", { class: "days", role: "img", "aria-label": t("keys.usage.label", { sum: num(sum), days }) }, ...shown.map(column), scale(0), scale(0.5), scale(1)),
    h("p", { class: "dx" }, h("span", {}, shown[0]!.slice(5)), h("span", {}, t("keys.usage.axis")), h("span", {}, shown.at(-1)!.slice(5))),
  ];
}

function short(count: number): string {
  if (count >= 1e6) return `${num(count / 1e6, 1)} M`;
  return count >= 1e4 ? `${num(count / 1e3)} k` : num(count);
}

function usageTable(rows: UsageRow[], group: Group): HTMLElement {
  const sum = (of: (row: UsageRow) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const currencies = [...new Set(rows.map((row) => row.currency).filter((currency) => currency !== null))];
  const cached = (prompt: number, part: number): string => (prompt > 0 ? `${num((100 * part) / prompt)} %` : "–");
  const cells = (name: Node | string, row: Omit<UsageRow, "currency">): HTMLElement[] => [h("td", {}, name), h("td", { class: "n" }, num(row.requests)), h("td", { class: "n" }, num(row.prompt_tokens)),
    h("td", { class: "n" }, cached(row.prompt_tokens, row.cached_tokens)), h("td", { class: "n" }, num(row.completion_tokens)), ...(currencies.length > 0 ? [h("td", { class: "n" }, row.cost === null ? "–" : num(row.cost, 4))] : [])];
  const total = { requests: sum((row) => row.requests), prompt_tokens: sum((row) => row.prompt_tokens), cached_tokens: sum((row) => row.cached_tokens), completion_tokens: sum((row) => row.completion_tokens), total_tokens: 0,
    cost: currencies.length === 1 ? sum((row) => row.cost ?? 0) : null };
  const name = (row: UsageRow): string => (group === "key" ? (row.name ?? row.key ?? t("live.nokey")) : ((group === "model" ? row.model : row.day) ?? ""));
  return h("div", {}, h("table", {},
    h("thead", {}, h("tr", {}, h("th", {}, t(`keys.group.${group}`)), h("th", { class: "n" }, t("keys.usage.requests")), h("th", { class: "n" }, t("keys.usage.in")), h("th", { class: "n" }, t("keys.usage.cached")), h("th", { class: "n" }, t("keys.usage.out")), currencies.length > 0 ? h("th", { class: "n" }, currencies.join(", ")) : null)),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...cells(name(row), row))), rows.length === 0 ? h("tr", {}, h("td", { colspan: 6, class: "mut" }, t("keys.usage.none"))) : null,
      rows.length > 0 ? h("tr", { class: "sum" }, ...cells(t("keys.usage.total"), total)) : null)),
    currencies.length === 0 && rows.length > 0 ? h("p", { class: "xs mut" }, t("keys.usage.noprices")) : null);
}
