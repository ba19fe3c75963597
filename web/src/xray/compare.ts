import { fill, h, styled, type Child } from "../dom";
import { num, t } from "../i18n";
import { align, type Pair } from "./align";
import { axis, cellBar, head, milli, percent, segment, segmented, swatch } from "./figures";
import type { Token, XrayDocument } from "./document";
import { colourOf, pieces, stageRows } from "./pieces";
import { pieceText, tokenText } from "./pieces_of_text";
import { timelineLabel } from "./time";
import { samplingWords } from "./view";

/** Two requests beside each other: on one time axis, token by token, figure by figure. */
export function compareView(a: XrayDocument, b: XrayDocument, links: Child[]): HTMLElement[] {
  const shown = h("div", { class: "cmp", "data-show": "both" });
  const switcher = h("div", { class: "phone" }, segmented([["a", "A"], ["b", "B"], ["both", "Δ"]], "both", (name) => (shown.dataset["show"] = name)));
  fill(shown, section("c1", t("xray.time"), timelines(a, b)), section("c2", t("xray.tokens"), strips(a, b), firstDifference(a, b)), section("c3", t("xray.compare.figures"), figuresTable(a, b)), section("c4", t("xray.time.stage"), stagesTable(a, b)));
  return [h("p", { class: "who" }, who("A", a), who("B", b), h("span", { class: "bt" }, ...links)), switcher, shown];
}

const section = (id: string, title: string, ...children: Child[]): HTMLElement => h("section", { class: "plate", id }, h("header", {}, h("h2", {}, title)), ...children);

const who = (name: string, doc: XrayDocument): HTMLElement => h("span", { class: "wrap" }, h("b", {}, name), " ", h("a", { class: "mono", href: `?request=${encodeURIComponent(doc.id)}` }, doc.id), " ", doc.model, " ", h("span", { class: "mono" }, samplingWords(doc)));

function timelines(a: XrayDocument, b: XrayDocument): HTMLElement {
  const longest = Math.max(a.timeline.wall_s, b.timeline.wall_s);
  const bar = (name: string, doc: XrayDocument): HTMLElement => {
    const all = pieces(doc.timeline);
    const parts = all.map((piece) => segment(piece.span ? `c-${colourOf(piece)}` : "no", (piece.end - piece.start) / longest, `${piece.name} ${milli(piece.end - piece.start, 3)} ms`));
    return h("div", { class: `cmpbar of-${name.toLowerCase()}` }, h("b", {}, name), h("div", { class: "bar thin", role: "img", "aria-label": timelineLabel(doc.timeline) }, ...parts), h("span", { class: "num" }, `${milli(doc.timeline.wall_s, 1)} ms`));
  };
  return h("div", {}, bar("A", a), bar("B", b), h("div", { class: "cmpbar" }, h("b"), axis(longest, 8), h("span")));
}

function strips(a: XrayDocument, b: XrayDocument): HTMLElement {
  const pairs = align(a.tokens.map(({ id }) => id), b.tokens.map(({ id }) => id));
  return h("div", { class: "pairs", role: "group", "aria-label": t("xray.compare.aligned") }, ...pairs.map((pair) => pairElement(pair, a, b)));
}

function pairElement(pair: Pair, a: XrayDocument, b: XrayDocument): HTMLElement {
  const [first, second] = [pair.a === null ? null : a.tokens[pair.a]!, pair.b === null ? null : b.tokens[pair.b]!];
  const isSame = first !== null && second !== null && first.id === second.id;
  const line = (token: Token | null, cls: string, position: number | null): HTMLElement => h("span", { class: token ? cls : `${cls} absent`, title: position === null ? null : `${position}` }, ...(token ? tokenText(token) : ["\u00a0"]));
  return h("span", { class: isSame ? "pairtok alike" : "pairtok differs" }, line(first, "of-a", pair.a), line(second, "of-b", pair.b));
}

/** The candidates of both at the first choice that fell differently. */
function firstDifference(a: XrayDocument, b: XrayDocument): HTMLElement {
  const place = a.steps.findIndex((step, idx) => step.id !== b.steps[idx]?.id);
  const [first, second] = [a.steps[place], b.steps[place]];
  if (place < 0 || !first || !second) return h("p", { class: "note ok" }, t(a.steps.length === b.steps.length ? "xray.compare.same" : "xray.compare.longer"));
  const others = new Map(second.candidates.map((candidate) => [candidate.id, candidate]));
  const rows = first.candidates.slice(0, 8).map((one) => {
    const other = others.get(one.id);
    const mark = (isChosen: boolean): string => (isChosen ? " ←" : "");
    return h("tr", {}, h("td", { class: "mono" }, ...pieceText(one.piece)), h("td", { class: "n of-a" }, percent(one.after) + mark(one.id === first.id)), h("td", { class: "b of-a" }, cellBar(one.after)),
      h("td", { class: "n of-b" }, other ? percent(other.after) + mark(one.id === second.id) : ""), h("td", { class: "b of-b" }, other ? cellBar(other.after) : null), h("td", { class: "n delta" }, other ? signed(100 * (other.after - one.after), 1, " %") : ""));
  });
  return h("div", { class: "diff" }, h("p", { class: "sm" }, t("xray.compare.first", { step: num(place), position: num(first.position) })),
    h("div", { class: "scroll" }, h("table", {}, head([[t("xray.sampler.candidate")], ["A", "n of-a"], ["", "b of-a"], ["B", "n of-b"], ["", "b of-b"], ["Δ", "n delta"]]), h("tbody", {}, ...rows))));
}

const signed = (value: number, decimals: number, unit = ""): string => `${value > 0 ? "+" : value < 0 ? "−" : "±"}${num(Math.abs(value), decimals)}${unit}`;

type Of = (doc: XrayDocument) => number | null;

function figuresTable(a: XrayDocument, b: XrayDocument): HTMLElement {
  const times: [string, Of][] = [["wall", (doc) => doc.timeline.wall_s], ["TTFT", (doc) => doc.latency.ttft_s], ["ITL p50", (doc) => doc.latency.itl_p50_s], ["ITL p99", (doc) => doc.latency.itl_p99_s], ["TPOT", (doc) => doc.latency.tpot_s]];
  const counts: [string, Of, number][] = [
    ["prefill tok/s", (doc) => doc.latency.prefill_tokens_per_s, 0], ["decode tok/s", (doc) => doc.latency.decode_tokens_per_s, 0],
    [t("xray.cost.prompt"), (doc) => doc.usage.prompt_tokens, 0], [t("xray.cost.cached"), (doc) => doc.usage.prompt_tokens_details.cached_tokens, 0], [t("xray.cost.answer"), (doc) => doc.usage.completion_tokens, 0],
    ["KV MB", (doc) => doc.kv.bytes_held / 1e6, 2], [a.cost?.currency ?? b.cost?.currency ?? "USD", (doc) => doc.cost?.total ?? null, 8],
  ];
  const rows = [...times.map(([name, of]) => deltaRow(`${name} ms`, thousandfold(of(a)), thousandfold(of(b)), 2)), ...counts.map(([name, of, decimals]) => deltaRow(name, of(a), of(b), decimals))];
  return h("div", { class: "scroll" }, h("table", { id: "figures" }, deltaHead(t("xray.compare.figure")), h("tbody", {}, ...rows)));
}

const thousandfold = (value: number | null): number | null => (value === null ? null : 1000 * value);
const deltaHead = (name: string): HTMLElement => head([[name], ["A", "n of-a"], ["B", "n of-b"], ["Δ", "n delta"], ["Δ %", "n delta"]]);

function deltaRow(name: Child, a: number | null, b: number | null, decimals: number, cls: string | null = null): HTMLElement {
  const text = (value: number | null): string => (value === null ? "–" : num(value, decimals));
  const delta = a === null || b === null ? null : b - a;
  return h("tr", { class: cls }, h("td", {}, name), h("td", { class: "n of-a" }, text(a)), h("td", { class: "n of-b" }, text(b)),
    h("td", { class: "n delta" }, delta === null ? "" : signed(delta, decimals)), h("td", { class: "n delta" }, delta === null || !a ? "" : signed((100 * delta) / a, 1, " %")));
}

function stagesTable(a: XrayDocument, b: XrayDocument): HTMLElement {
  const [first, second] = [stageRows(a.timeline), stageRows(b.timeline)];
  const names = [...new Set([...first, ...second].map(({ name }) => name))];
  const rows = names.map((name) => {
    const [one, other] = [first, second].map((rows) => rows.find((row) => row.name === name));
    return deltaRow(h("span", {}, swatch(`c-${colourOf((one ?? other)!)}`), name), 1000 * (one?.seconds ?? 0), 1000 * (other?.seconds ?? 0), 2);
  });
  const left = (rows: typeof first, doc: XrayDocument): number => 1000 * (doc.timeline.wall_s - rows.reduce((sum, row) => sum + row.seconds, 0));
  return h("div", { class: "scroll" }, h("table", { id: "stages" }, deltaHead("ms"), h("tbody", {}, ...rows, deltaRow(h("span", {}, styled(h("i", { class: "sw hol" }), { "--c": "var(--ctl)" }), "unaccounted"), left(first, a), left(second, b), 2), deltaRow("wall", 1000 * a.timeline.wall_s, 1000 * b.timeline.wall_s, 2, "sum"))));
}
