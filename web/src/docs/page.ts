import { copyText, fill, h, type Child } from "../dom";
import { t, type TextKey } from "../i18n";
import { keep, kept } from "../kept";
import type { Page, Server } from "../shell";
import { chatSnippet, curl, tongues, type Tongue } from "../snippets";
import { pythonCall, typescriptCall } from "./calls";

export const docsPage: Page = { path: "/docs", name: "nav.docs", isOpen: true, start };

interface Section {
  id: string;
  title: TextKey;
  text: TextKey[];
  endpoint?: string;
  /** The same in each language; null: there is nothing to show in it. */
  example?: (tongue: Tongue) => string;
  more?: () => Child;
}

function sections(server: Server): Section[] {
  const { origin } = server;
  const model = server.model?.id ?? "MODEL";
  const messages = [{ role: "user" as const, content: "Explain the KV cache in three sentences." }];
  const plain = (path: string, body?: unknown) => (tongue: Tongue): string => {
    const method = body === undefined ? "GET" : "POST";
    if (tongue === "curl") return curl(origin, method, path, body);
    return tongue === "Python" ? pythonCall(origin, method, path, body) : typescriptCall(origin, method, path, body);
  };
  return [
    { id: "start", title: "docs.start", text: ["docs.start.1", "docs.start.2"], more: () => setup(server, model) },
    { id: "chat", title: "docs.chat", text: ["docs.chat.1"], endpoint: "POST /v1/chat/completions",
      example: (tongue) => chatSnippet(tongue, origin, { model, messages, temperature: 0.7, max_tokens: 200 }) },
    { id: "stream", title: "docs.stream", text: ["docs.stream.1", "docs.stream.2"],
      example: (tongue) => chatSnippet(tongue, origin, { model, messages, stream: true }) },
    { id: "parameters", title: "docs.parameters", text: ["docs.parameters.1"], more: parameterTable },
    { id: "completions", title: "docs.completions", text: ["docs.completions.1"], endpoint: "POST /v1/completions",
      example: plain("/v1/completions", { model, prompt: "The KV cache is", max_tokens: 40 }) },
    { id: "embeddings", title: "docs.embeddings", text: ["docs.embeddings.1", "docs.embeddings.2"], endpoint: "POST /v1/embeddings",
      example: plain("/v1/embeddings", { model, input: ["The cat sleeps.", "A cat is asleep."] }) },
    { id: "models", title: "docs.models", text: ["docs.models.1"], endpoint: "GET /v1/models", example: plain("/v1/models") },
    { id: "tokens", title: "docs.tokens", text: ["docs.tokens.1"], endpoint: "POST /tokenize, /detokenize, /apply-template",
      example: plain("/tokenize", { prompt: "Hello world", return_token_strs: true }) },
    { id: "timings", title: "docs.timings", text: ["docs.timings.1"], more: timingTable },
    { id: "errors", title: "docs.errors", text: ["docs.errors.1"], more: errorTable },
    { id: "keys", title: "docs.keys", text: ["docs.keys.1", "docs.keys.2"], more: () => code("vitrine keys create laptop") },
    { id: "admin", title: "docs.admin", text: ["docs.admin.1", "docs.admin.2"], endpoint: "/v1/admin/keys, /v1/admin/usage, /v1/admin/live",
      example: plain("/v1/admin/keys", { name: "laptop", role: "user", limits: { requests_per_minute: 60, tokens_per_day: 2_000_000 } }) },
    { id: "metrics", title: "docs.metrics", text: ["docs.metrics.1"], endpoint: "GET /metrics", example: (tongue) => (tongue === "curl" ? curl(origin, "GET", "/metrics") : plain("/metrics")(tongue)) },
  ];
}

function start(main: HTMLElement, server: Server): void {
  const all = sections(server);
  const body = h("div", { class: "doc" });
  const show = (tongue: Tongue): void => fill(body, h("h1", {}, t("docs.title")), ...all.map((section) => article(section, tongue, pick)));
  const pick = (tongue: Tongue, from: HTMLElement): void => {
    keep("tongue", tongue);
    const id = from.closest("section")?.id ?? "";
    const before = from.getBoundingClientRect().top;
    show(tongue);
    const same = document.querySelector<HTMLElement>(`#${id} .seg [aria-pressed=true]`);
    if (same) scrollBy(0, same.getBoundingClientRect().top - before); // the clicked place stays where it was
    same?.focus({ preventScroll: true });
  };
  show(tongues.find((tongue) => tongue === kept("tongue")) ?? "curl");
  main.className = "docs";
  fill(main, h("nav", { class: "contents", "aria-label": t("docs.contents") }, ...all.map(({ id, title }) => h("a", { href: "#" + id }, t(title)))), body);
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

function article(section: Section, tongue: Tongue, pick: (tongue: Tongue, from: HTMLElement) => void): HTMLElement {
  const { example } = section;
  const tabs = (): HTMLElement => h("span", { class: "seg", role: "group", "aria-label": t("docs.languages") }, ...tongues.map((one) => {
    const button: HTMLButtonElement = h("button", { "aria-pressed": one === tongue ? "true" : "false", onclick: () => pick(one, button) }, one);
    return button;
  }));
  return h("section", { class: "plate", id: section.id },
    h("header", {}, h("h2", {}, t(section.title)), section.endpoint ? h("code", { class: "mut" }, section.endpoint) : null, example ? h("span", { class: "end" }, tabs()) : null),
    h("div", { class: "cols" },
      h("div", { class: "words" }, ...section.text.map((key) => h("p", {}, ...withCode(t(key)))), example && section.more ? section.more() : null),
      h("div", { class: "sample" }, example ? code(example(tongue)) : section.more ? section.more() : null)));
}

/** `code` in a text becomes code. */
function withCode(text: string): Child[] {
  return text.split("`").map((part, idx) => (idx % 2 === 1 ? h("code", {}, part) : part));
}

function code(text: string): HTMLElement {
  const button: HTMLButtonElement = h("button", { class: "q sm", onclick: () => void copyText(text, button, t("copied")) }, t("copy"));
  return h("div", { class: "code" }, h("pre", { tabindex: 0 }, h("code", {}, text)), button);
}

function setup(server: Server, model: string): HTMLElement {
  return h("div", {},
    h("dl", { class: "facts" }, h("dt", {}, t("docs.start.base")), h("dd", {}, h("code", {}, server.origin + "/v1")),
      h("dt", {}, t("docs.start.model")), h("dd", {}, h("code", {}, model)),
      server.model ? h("dt", {}, t("docs.start.context")) : null, server.model ? h("dd", { class: "num" }, server.model.context_length.toLocaleString("en-US")) : null),
    code(`export OPENAI_BASE_URL=${server.origin}/v1\nexport OPENAI_API_KEY=sk-...`));
}

function table(heads: TextKey[], rows: [string, TextKey][]): HTMLElement {
  return h("div", { class: "scroll" }, h("table", { class: "words-table" },
    h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", {}, t(head))))),
    h("tbody", {}, ...rows.map(([name, key]) => h("tr", {}, h("td", {}, h("code", {}, name)), h("td", {}, ...withCode(t(key))))))));
}

const parameterTable = (): HTMLElement => table(["docs.field", "docs.meaning"], [
  ["temperature", "docs.parameters.temperature"], ["top_p, top_k, min_p", "docs.parameters.cuts"], ["max_tokens", "docs.parameters.max_tokens"],
  ["stop", "docs.parameters.stop"], ["seed", "docs.parameters.seed"], ["n", "docs.parameters.n"], ["logprobs, top_logprobs", "docs.parameters.logprobs"],
  ["frequency_penalty, presence_penalty", "docs.parameters.penalties"], ["stream_options.include_usage", "docs.parameters.usage"]]);

const timingTable = (): HTMLElement => table(["docs.field", "docs.meaning"], [
  ["load_s", "chat.stage.load"], ["prepare_s", "chat.stage.prepare"], ["queue_s", "chat.stage.queue"], ["prefill_s", "chat.stage.prefill"], ["decode_s", "chat.stage.decode"],
  ["sample_s", "chat.stage.sample"], ["other_s", "chat.stage.other"], ["ttft_s", "docs.timings.ttft"], ["itl_p50_s, itl_p99_s", "docs.timings.itl"]]);

const errorTable = (): HTMLElement => table(["docs.status", "docs.meaning"], [
  ["400", "docs.errors.400"], ["401, 403", "docs.errors.401"], ["404", "docs.errors.404"], ["413, 415", "docs.errors.413"], ["421", "docs.errors.421"],
  ["429", "docs.errors.429"], ["500", "docs.errors.500"], ["503", "docs.errors.503"]]);
