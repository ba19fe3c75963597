import { h, styled, type Child } from "../dom";
import { num, t, type TextKey } from "../i18n";
import { head, segment, swatch, tickStep } from "../xray/figures";
import type { Plan, PlanRow } from "./answer";

const gib = (bytes: number, decimals = 2): string => num(bytes / 2 ** 30, decimals);

const kinds: { of: (row: PlanRow) => number; name: TextKey; color: string }[] = [
  { of: (row) => row.weights_bytes, name: "plan.weights", color: "var(--se-1)" },
  { of: (row) => row.kv_allocated_bytes, name: "plan.kvblocks", color: "var(--se-2)" },
  { of: (row) => row.activations_bytes + row.scratch_bytes, name: "plan.buffers", color: "var(--se-3)" },
  { of: (row) => row.other_bytes, name: "plan.other", color: "var(--se-4)" },
];

const figure = (name: string, value: string, unit: string | null, below: string): HTMLElement => h("div", { class: "fig" }, h("span", {}, name), h("b", {}, value, unit ? h("small", {}, unit) : null), h("i", {}, below));

export function planFigures({ model, machine, rows }: Plan): HTMLElement[] {
  const [row] = rows;
  if (!row) return [];
  const bits = (8 * row.weights_bytes) / Math.max(1, model.parameters);
  const perToken = row.kv_bytes / (row.context * row.batch);
  return [
    figure(t("plan.figure.machine"), gib(machine.available_memory_bytes, 1), "GiB", t("plan.figure.held", { gib: gib(machine.held_by_server_bytes) })),
    figure(t("plan.weights"), gib(row.weights_bytes), "GiB", `${num(model.parameters / 1e9, 2)} G × ${num(bits, 2)} bit`),
    figure(t("plan.figure.token"), num(perToken / 1024, perToken < 10240 ? 1 : 0), "KiB", t("plan.figure.bytes", { bytes: num(perToken) })),
    figure(t("plan.figure.context", { batch: num(row.batch) }), num(row.max_context), null, t("plan.figure.allows", { context: num(model.context_length) })),
    figure(t("plan.figure.users", { context: num(row.context) }), num(row.max_batch), null, row.kv_type),
  ];
}

export function bars(plan: Plan): Child[] {
  const available = plan.machine.available_memory_bytes;
  const top = scaleTop(Math.max(available, ...plan.rows.map((row) => row.total_bytes)));
  const key = [...kinds.map(({ name, color }) => h("span", {}, swatch("", color), t(name))), h("span", {}, styled(h("i", { class: "sw limit" }), {}), t("plan.limit", { gib: gib(available, 1) }))];
  return [h("header", {}, h("h2", {}, t("plan.needs")), h("span", { class: "end key" }, ...key)),
    h("div", { class: "stk" }, ...plan.rows.flatMap((row) => bar(row, available, top)), h("span"), scale(top), h("span"))];
}

const scaleTop = (bytes: number): number => {
  const step = tickStep(bytes / 2 ** 30, 4);
  return Math.ceil(bytes / 2 ** 30 / step) * step * 2 ** 30;
};

function bar(row: PlanRow, available: number, top: number): HTMLElement[] {
  const parts = kinds.map(({ of, name, color }) => styled(segment("", of(row) / top, `${t(name)} ${gib(of(row))} GiB`), { "--c": color }));
  const label = [t("plan.bar", { context: num(row.context), batch: num(row.batch), gib: gib(row.total_bytes) }), ...kinds.map(({ of, name }) => `${t(name)} ${gib(of(row))}`)].join(", ");
  const limit = styled(h("span", { class: "roof" }), { left: `${(100 * available) / top}%` });
  const word = row.fits ? null : h("span", { class: "bad" }, " ", t("plan.fitsnot"));
  return [h("span", { class: "num" }, `${num(row.context)} × ${num(row.batch)}`), h("span", { class: "b", role: "img", "aria-label": label }, ...parts, limit), h("span", { class: "v" }, h("span", { class: "num" }, `${gib(row.total_bytes)} GiB`), word)];
}

function scale(top: number): HTMLElement {
  const step = tickStep(top / 2 ** 30, 4);
  const decimals = step < 1 ? Math.ceil(-Math.log10(step)) : 0;
  const marks = Array.from({ length: Math.floor(top / 2 ** 30 / step + 1e-9) + 1 }, (_, idx) => idx * step);
  return h("span", { class: "lim", "aria-hidden": "true" }, ...marks.map((at) => styled(h("span", {}, num(at, decimals)), { left: `${(100 * at * 2 ** 30) / top}%` })));
}

export function planTable({ rows, machine, model }: Plan): HTMLElement {
  const hasSpeed = rows.some((row) => row.decode_tokens_per_s !== null);
  const tag = (row: PlanRow): HTMLElement => (row.fits ? h("span", { class: "tag on" }, t("plan.fits")) : h("span", { class: "tag bad" }, t("plan.short", { gib: gib(row.total_bytes - machine.available_memory_bytes, 1) })));
  const cells = (row: PlanRow): HTMLElement => h("tr", {}, h("td", { class: "n" }, num(row.context), row.context > model.context_length ? h("span", { class: "warn", title: t("plan.beyond") }, " *") : null), h("td", { class: "n" }, num(row.batch)),
    h("td", { class: "n opt" }, gib(row.weights_bytes)), h("td", { class: "n opt" }, gib(row.kv_allocated_bytes)), h("td", { class: "n opt" }, gib(row.total_bytes - row.weights_bytes - row.kv_allocated_bytes)), h("td", { class: "n" }, gib(row.total_bytes)), h("td", {}, tag(row)),
    h("td", { class: "n opt" }, num(row.max_context)), h("td", { class: "n opt" }, num(row.max_batch)), hasSpeed ? h("td", { class: "n" }, row.decode_tokens_per_s === null ? "" : num(row.decode_tokens_per_s, 1)) : null);
  return h("div", {}, h("h2", { class: "sub" }, t("plan.table")), h("div", { class: "scroll" }, h("table", { id: "plan-table" },
    head([[t("plan.context"), "n"], [t("plan.users"), "n"], [t("plan.weights"), "n opt"], ["KV", "n opt"], [t("plan.rest"), "n opt"], [t("plan.total"), "n"], [""], [t("plan.most.context"), "n opt"], [t("plan.most.users"), "n opt"], ...(hasSpeed ? [["Decode tok/s", "n"] as [string, string]] : [])]),
    h("tbody", {}, ...rows.map(cells)))), rows.some((row) => row.context > model.context_length) ? h("p", { class: "xs mut" }, "* ", t("plan.beyond")) : null,
    h("p", { class: "xs mut dated" }, t("plan.speed"), " ", h("code", {}, "vitrine plan")));
}

export function formula({ kv_formula }: PlanRow): Child[] {
  const { text, bytes, copied_text, copied_bytes, copied_ratio, reasons } = kv_formula;
  const size = (count: number): string => (count >= 2 ** 30 ? `${gib(count)} GiB` : `${num(count / 2 ** 20, 1)} MiB`);
  const isSame = Math.abs(copied_ratio - 1) < 0.005;
  return [h("h2", { class: "sub" }, t("plan.formula")), h("p", { class: "formula" }, `KV = ${text} = `, h("b", {}, size(bytes))),
    h("p", { class: "sm mut copied" }, t(isSame ? "plan.copied.same" : "plan.copied")), h("p", { class: "formula" }, h("span", { class: isSame ? null : "bad" }, `${copied_text} = ${size(copied_bytes)}`)),
    isSame ? null : h("p", { class: "note warn" }, t(copied_ratio > 1 ? "plan.copied.more" : "plan.copied.less", { times: num(copied_ratio > 1 ? copied_ratio : 1 / copied_ratio, 2) }), " ", h("span", { lang: "en" }, reasons.join("; ")))];
}
