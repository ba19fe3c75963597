import { h, styled } from "../dom";
import { ms, num, t } from "../i18n";
import type { LiveModel, LiveRequest, Snapshot } from "./snapshot";

const isWaiting = (request: LiveRequest): boolean => request.state === "queued" || request.state === "preempted";
/** Of keys by their ids, as far as they were asked for. */
export const keyNames = new Map<string, string>();

const keyName = ({ key_id }: LiveRequest): string => (key_id === null ? t("live.nokey") : (keyNames.get(key_id) ?? key_id));
/** Enough to tell the requests of one moment apart; the title has all of it. */
const shortId = (id: string): string => id.replace("req-", "").slice(0, 10);
const maybeMs = (value: number | null): string => (value === null ? "" : ms(value));

export function runningTable(snapshot: Snapshot): HTMLElement {
  const rows = snapshot.requests.filter((request) => !isWaiting(request));
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, head("request"), head("key"), head("state", "opt"), head("prompt", "n"), head("cached", "n opt"), head("answer", "n"), head("blocks", "n opt"), head("elapsed", "n"), h("th", { class: "n opt" }, "TTFT"), h("th", { class: "n opt" }, "ITL p50"))),
    h("tbody", {}, ...rows.map(runningRow), rows.length === 0 ? empty(10, t("live.running.none")) : null)));
}

function runningRow(request: LiveRequest): HTMLElement {
  return h("tr", {},
    h("td", { class: "mono", title: request.id }, h("i", { class: "sw c-" + request.state }), shortId(request.id)),
    h("td", { class: "nw" }, keyName(request)),
    h("td", { class: "opt nw" }, request.state, request.state === "prefill" ? progressBar(request) : null),
    h("td", { class: "n" }, num(request.prompt_tokens)), h("td", { class: "n opt" }, num(request.cached_tokens)),
    h("td", { class: "n" }, num(request.completion_tokens)), h("td", { class: "n opt" }, request.blocks === null ? "" : num(request.blocks)),
    h("td", { class: "n" }, ms(request.elapsed_s)), h("td", { class: "n opt" }, maybeMs(request.ttft_s)), h("td", { class: "n opt" }, maybeMs(request.itl_p50_s)));
}

function progressBar({ computed_tokens, prompt_tokens }: LiveRequest): HTMLElement {
  const share = Math.min(1, (computed_tokens ?? 0) / prompt_tokens);
  return h("span", { class: "use" }, styled(h("i", {}), { width: `${100 * share}%` }));
}

export function queuedTable(snapshot: Snapshot): HTMLElement {
  const rows = inQueueOrder(snapshot);
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { class: "n" }, "№"), head("request"), head("key"), head("prompt", "n"), head("waited", "n"), head("why", "wf"))),
    h("tbody", {}, ...rows.map((request) => queuedRow(request, snapshot)), rows.length === 0 ? empty(6, t("live.queued.none")) : null)));
}

/** Model by model, each in the order in which they will begin; those that the engine has not seen yet come last. */
function inQueueOrder(snapshot: Snapshot): LiveRequest[] {
  const model = (request: LiveRequest): number => snapshot.models.findIndex(({ id }) => id === request.model);
  const place = (request: LiveRequest): number => request.position ?? Number.MAX_SAFE_INTEGER;
  return snapshot.requests.filter(isWaiting).sort((a, b) => model(a) - model(b) || place(a) - place(b));
}

function queuedRow(request: LiveRequest, snapshot: Snapshot): HTMLElement {
  const model = snapshot.models.find(({ id }) => id === request.model);
  return h("tr", {}, h("td", { class: "n" }, request.position === null ? "" : num(request.position + 1)), h("td", { class: "mono", title: request.id }, shortId(request.id)), h("td", { class: "nw" }, keyName(request)),
    h("td", { class: "n" }, num(request.prompt_tokens)), h("td", { class: "n" }, ms(request.elapsed_s)), h("td", { class: "wf" }, model ? whyWaiting(request, model) : ""));
}

function whyWaiting(request: LiveRequest, model: LiveModel): string {
  if (request.position !== null && request.position > 0) return t("live.why.order");
  if (model.num_running >= model.max_sequences) return t("live.why.places", { limit: num(model.max_sequences) });
  const needed = Math.ceil((request.prompt_tokens + request.completion_tokens + 1) / model.blocks.tokens);
  const available = model.blocks.free + model.blocks.cached;
  return needed > available ? t("live.why.blocks", { needed: num(needed), available: num(available) }) : t("live.why.step");
}

function head(name: string, cls: string | null = null): HTMLElement {
  return h("th", { class: cls }, t(`live.head.${name}` as never));
}

function empty(columns: number, text: string): HTMLElement {
  return h("tr", {}, h("td", { colspan: columns, class: "mut" }, text));
}
