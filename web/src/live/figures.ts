import { h } from "../dom";
import { msPair, num, t } from "../i18n";
import { allBlocks, outputRate, type Snapshot } from "./snapshot";

/** The row of figures at the top. */
export function figures(snapshot: Snapshot): HTMLElement[] {
  const { window, models } = snapshot;
  const sum = (of: (model: Snapshot["models"][number]) => number): number => models.reduce((total, model) => total + of(model), 0);
  const blocks = allBlocks(snapshot);
  const streams = snapshot.requests.filter((request) => request.state === "decode").length;
  return [
    figure(t("live.figure.running"), `${num(sum((model) => model.num_running))} / ${num(sum((model) => model.num_waiting))}`, null, t("live.figure.limit", { limit: num(sum((model) => model.max_sequences)) })),
    figure(t("live.figure.output"), num(outputRate(snapshot)), "tok/s", t("live.figure.streams", { count: num(streams) })),
    figure("TTFT p50 / p99", pair(window.ttft_p50_s, window.ttft_p99_s), null, t("live.figure.window")),
    figure("ITL p50 / p99", pair(window.itl_p50_s, window.itl_p99_s), null, t("live.figure.window")),
    figure(t("live.figure.pool"), `${num(blocks.in_use)} / ${num(blocks.total)}`, null, t("live.figure.held")),
    figure(t("live.figure.prefix"), num(blocks.cached), null, t("live.figure.kept", { size: megabytes(blocks.cached * blocks.bytes) })),
    figure(t("live.figure.steps"), num(sum((model) => model.num_steps)), null, t("live.figure.preempted", { count: num(sum((model) => model.num_preemptions)) })),
  ];
}

function figure(name: string, value: string, unit: string | null, below: string): HTMLElement {
  return h("div", { class: "fig" }, h("span", {}, name), h("b", {}, value, unit ? h("small", {}, unit) : null), h("i", {}, below));
}

function pair(first: number | null, second: number | null): string {
  return first === null || second === null ? "–" : msPair(first, second);
}

export function megabytes(bytes: number): string {
  return `${num(bytes / 1e6, 1)} MB`;
}
