import type { Waiting } from "../api";
import { h, styled } from "../dom";
import { num, t } from "../i18n";

const quietS = 1; // before that nobody wonders

/** What an answer without text waits for; nothing while that is not yet worth a word. */
export function waitingFor(waiting: Waiting | null, sinceS: number): HTMLElement | null {
  if (waiting?.state === "queued") return queued(waiting.position);
  if (sinceS <= quietS) return null;
  return waiting === null ? h("span", {}, t("chat.live.prompt")) : prefill(waiting.tokens_done, waiting.tokens);
}

function queued(position: number): HTMLElement {
  return h("span", {}, position === 0 ? t("chat.live.next") : t("chat.live.ahead", { count: num(position) }));
}

function prefill(done: number, tokens: number): HTMLElement {
  const share = Math.min(1, done / tokens);
  const label = t("chat.live.prompt.of", { done: num(done), tokens: num(tokens) });
  return h("span", { class: "reading" }, t("chat.live.prompt"),
    h("span", { class: "use", role: "img", "aria-label": label, title: label }, styled(h("i", {}), { width: `${100 * share}%` })),
    h("b", {}, `${num(Math.floor(100 * share))} %`));
}
