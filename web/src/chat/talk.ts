import { copyText, fill, h, type Child } from "../dom";
import { languageOf, ms, num, t } from "../i18n";
import { renderMarkdown } from "../markdown";
import { progress } from "./answering";
import { addTurn, choose, path, siblings, type Conversation, type Turn } from "./conversation";
import { ledger, parts, timeline } from "./timeline";
import { waitingFor } from "./waiting";

export interface TalkActions {
  edit(turn: Turn, text: string): void;
  again(turn: Turn): void;
  choose(turn: Turn): void;
  setSystem(text: string): void;
  stop(): void;
}

const followPx = 120; // as near to the end as this, the view goes along

/** The turns of a conversation. Only the answer on its way changes between two calls of show(). */
export class Talk {
  readonly element = h("div", { class: "msgs" });
  private readonly speaker = h("p", { class: "vh", "aria-live": "polite" });
  private talk: Conversation | null = null;
  private live: { turn: Turn; element: HTMLElement; say: HTMLElement; run: HTMLElement; timer: number } | null = null;
  private frame = 0;
  private announced = 0;
  private timers: number[] = [];

  constructor(private readonly actions: TalkActions) {}

  show(talk: Conversation, answering: Turn | null, model: string): void {
    this.timers.forEach(clearInterval);
    this.timers = [];
    clearInterval(this.live?.timer);
    this.talk = talk;
    if (this.live?.turn !== answering) this.announced = 0;
    this.live = null;
    const turns = path(talk);
    fill(this.element, this.systemLine(talk), ...turns.map((turn) => this.turnElement(turn, turn === answering)),
      turns.length === 0 ? this.empty(model) : null, this.speaker);
  }

  /** The answer on its way has more text. */
  update(turn: Turn): void {
    if (this.live?.turn !== turn || this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.refreshLive();
    });
  }

  /** The answer on its way has ended; what is being typed elsewhere stays. */
  finish(turn: Turn): void {
    if (this.live?.turn !== turn) return;
    const { element, timer } = this.live;
    const follows = this.follows();
    clearInterval(timer);
    this.live = null;
    this.announce(turn.text + "\n");
    element.replaceWith(this.answer(turn, false));
    if (follows) this.toNewest();
  }

  lastTurn(): string | null {
    return this.talk ? (path(this.talk).at(-1)?.id ?? null) : null;
  }

  add(talk: Conversation, parent: string | null, text: string): string {
    return addTurn(talk, parent, "user", text).id;
  }

  follows(): boolean {
    return document.documentElement.scrollHeight - innerHeight - scrollY < followPx;
  }

  toNewest(): void {
    scrollTo({ top: document.documentElement.scrollHeight });
  }

  private refreshLive(): void {
    if (!this.live) return;
    const follows = this.follows();
    const { turn, say, run } = this.live;
    showText(say, turn, true);
    fill(run, ...this.liveFigures(turn));
    this.announce(turn.text);
    if (follows) this.toNewest();
  }

  /** Screen readers hear whole sentences. */
  private announce(text: string): void {
    const end = Math.max(...[". ", "! ", "? ", "\n", "。", "！", "？"].map((mark) => text.lastIndexOf(mark)));
    if (end + 1 <= this.announced) return;
    this.speaker.textContent = text.slice(this.announced, end + 1);
    this.announced = end + 1;
  }

  private empty(model: string): HTMLElement {
    return h("p", { class: "mut empty" }, t("chat.empty", { model }));
  }

  private systemLine(talk: Conversation): HTMLElement {
    const line = h("div", { class: "sys" });
    const text = talk.system.trim();
    const edit = (): void => {
      const field = h("textarea", { rows: 3, "aria-label": t("chat.system"), placeholder: t("chat.system.placeholder") });
      field.value = talk.system;
      const save = (): void => this.actions.setSystem(field.value.trim());
      field.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
      });
      fill(line, h("div", { class: "grow" }, field), h("button", { class: "pri", onclick: save }, t("chat.save")));
      field.focus();
    };
    fill(line, h("span", { class: "clip" }, t("chat.system.line"), text === "" ? h("i", { class: "none" }, t("chat.system.none")) : h("span", { lang: languageOf(text), title: text }, text)),
      h("button", { class: "q", onclick: edit, "aria-label": t("chat.system.edit") }, t("chat.edit")));
    return line;
  }

  private turnElement(turn: Turn, isLive: boolean): HTMLElement {
    return turn.role === "user" ? this.question(turn) : this.answer(turn, isLive);
  }

  private question(turn: Turn): HTMLElement {
    const say = h("p", { class: "say", lang: languageOf(turn.text) }, turn.text);
    const element = h("div", { class: "turn me" }, h("h3", {}, t("chat.you")), say);
    const edit = (): void => {
      const field = h("textarea", { rows: 3, "aria-label": t("chat.edit") });
      field.value = turn.text;
      const send = (): void => {
        if (field.value.trim() !== "") this.actions.edit(turn, field.value.trim());
      };
      field.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
          event.preventDefault();
          send();
        }
      });
      fill(element, h("h3", {}, t("chat.you")), field,
        h("p", { class: "run" }, h("span", { class: "mut" }, t("chat.branch")), h("span", { class: "end" },
          h("button", { class: "q", onclick: () => this.actions.choose(turn) }, t("chat.cancel")), h("button", { class: "q act", onclick: send }, t("chat.send")))));
      field.focus();
    };
    element.append(h("p", { class: "run" }, h("span", { class: "end" }, ...this.switcher(turn), h("button", { class: "q", onclick: edit }, t("chat.edit")))));
    return element;
  }

  private answer(turn: Turn, isLive: boolean): HTMLElement {
    const say = h("div", { class: "say md", lang: languageOf(turn.text) });
    const run = h("div", { class: "run" });
    showText(say, turn, isLive);
    const element = h("div", { class: "turn", "aria-busy": String(isLive) }, h("h3", {}, turn.model ?? ""), say);
    if (isLive) {
      this.live = { turn, element, say, run, timer: window.setInterval(() => this.refreshLive(), 100) };
      fill(run, ...this.liveFigures(turn));
    } else {
      if (turn.error) element.append(this.errorNote(turn));
      for (const warning of turn.warnings ?? []) element.append(h("p", { class: "note warn", lang: "en" }, warning));
      this.addFigures(turn, element, run);
    }
    element.append(run);
    return element;
  }

  private liveFigures(turn: Turn): Child[] {
    const state = progress.get(turn);
    if (!state) return [];
    const now = performance.now();
    const firstS = state.firstMs === null ? null : (state.firstMs - state.beganMs) / 1000;
    const totalS = (now - state.beganMs) / 1000;
    const bar = timeline([
      { stage: "prefill", name: t("chat.live.first"), seconds: firstS ?? totalS },
      { stage: "decode", name: t("chat.live.rest"), seconds: firstS === null ? 0 : totalS - firstS },
    ]);
    const stage = firstS === null ? waitingFor(state.waiting, totalS) : null;
    return [bar, figure(ms(totalS)), firstS === null ? null : figure(ms(firstS), "TTFT"),
      firstS === null || state.pieces < 2 ? null : figure(num((state.pieces - 1) / Math.max(1e-3, totalS - firstS), 0), null, "tok/s"),
      stage,
      h("span", { class: "end" }, h("button", { class: "q", onclick: () => this.actions.stop() }, t("chat.stop"), " ", h("kbd", {}, "Esc")))];
  }

  private addFigures(turn: Turn, element: HTMLElement, run: HTMLElement): void {
    const { timings, usage, wallS } = turn;
    const items: Child[] = [];
    if (timings && wallS !== undefined) {
      const all = parts(timings, wallS);
      const table = h("div", { class: "scroll" }, ledger(all));
      table.hidden = true;
      const toggle = h("button", { class: "q", "aria-expanded": "false" }, t("chat.ledger"));
      toggle.addEventListener("click", () => {
        table.hidden = !table.hidden;
        toggle.setAttribute("aria-expanded", String(!table.hidden));
      });
      element.append(timeline(all));
      items.push(figure(ms(wallS)), timings.ttft_s === null ? null : figure(ms(timings.ttft_s), "TTFT"),
        timings.itl_p50_s === null ? null : figure(ms(timings.itl_p50_s), "ITL p50", null, "opt"));
      if (usage) items.push(...usageFigures(usage, timings.decode_s + timings.sample_s + timings.other_s));
      items.push(this.closing(turn, toggle));
      fill(run, ...items);
      queueMicrotask(() => run.after(table));
      return;
    }
    if (turn.finish === "stopped") items.push(h("span", {}, t("chat.stopped")));
    if (wallS !== undefined && turn.text !== "") items.push(figure(ms(wallS)));
    fill(run, ...items, this.closing(turn, null));
  }

  private closing(turn: Turn, toggle: HTMLElement | null): HTMLElement {
    const copy: HTMLButtonElement = h("button", { class: "q", onclick: () => void copyText(turn.text, copy, t("copied")) }, t("copy"));
    const note = turn.finish === "length" ? h("span", { class: "warn" }, t("chat.cut")) : null;
    const xray = turn.requestId && turn.timings ? h("a", { class: "xlink", href: `/xray?request=${encodeURIComponent(turn.requestId)}` }, t("nav.xray")) : null;
    return h("span", { class: "end" }, note, ...this.switcher(turn), xray, toggle, turn.text === "" ? null : copy,
      h("button", { class: "q", onclick: () => this.actions.again(turn) }, t("chat.again")));
  }

  /** One of several branches is shown: which, and the way to the others. */
  private switcher(turn: Turn): Child[] {
    const all = this.talk ? siblings(this.talk, turn) : [];
    if (all.length < 2) return [];
    const idx = all.indexOf(turn);
    const to = (step: number): HTMLElement => {
      const other = all[idx + step];
      const go = (): void => {
        if (!other || !this.talk) return;
        choose(this.talk, other);
        this.actions.choose(other);
      };
      return h("button", { class: "q", onclick: go, disabled: !other, "aria-label": t(step < 0 ? "chat.branch.previous" : "chat.branch.next") }, step < 0 ? "‹" : "›");
    };
    return [to(-1), h("span", { class: "num branch" }, `${idx + 1} / ${all.length}`), to(1)];
  }

  private errorNote(turn: Turn): HTMLElement {
    const { status, message, requestId, retryAt } = turn.error!;
    const again = h("button", { onclick: () => this.actions.again(turn) }, t("shell.again"));
    const wait = h("span", { class: "num" });
    const tick = (): void => {
      const leftS = retryAt === null ? 0 : Math.ceil((retryAt - Date.now()) / 1000);
      again.disabled = leftS > 0;
      wait.textContent = leftS > 0 ? t("chat.retry", { seconds: leftS }) : "";
    };
    tick();
    if (retryAt !== null && retryAt > Date.now()) this.timers.push(window.setInterval(tick, 500));
    const what = status === 0 ? t("shell.noanswer", { host: location.host }) : message;
    return h("div", { class: "note bad", role: "alert" },
      h("p", { lang: status === 0 ? null : "en" }, status > 0 ? h("b", { class: "num" }, `${status} `) : null, what, requestId ? h("span", { class: "mono mut" }, ` ${requestId}`) : null),
      status === 401 || status === 403 ? h("p", {}, h("button", { onclick: () => location.reload() }, t("shell.key.enter"))) : h("p", {}, again, " ", wait));
  }
}

function showText(say: HTMLElement, turn: Turn, isLive: boolean): void {
  const language = languageOf(turn.text);
  if (language) say.lang = language;
  fill(say, ...renderMarkdown(turn.text));
  if (isLive) textEnd(say).append(h("span", { class: "caret", "aria-hidden": "true" }));
}

/** The innermost element that the text ends in. */
function textEnd(element: Element): Element {
  const last = element.lastElementChild;
  const isBlock = last !== null && ["P", "UL", "OL", "LI", "PRE", "CODE", "BLOCKQUOTE"].includes(last.tagName);
  return isBlock && last.nextSibling === null ? textEnd(last) : element;
}

function figure(value: string, label: string | null = null, unit: string | null = null, cls: string | null = null): HTMLElement {
  return h("span", { class: cls }, label ? label + " " : null, h("b", {}, value), unit ? " " + unit : null);
}

function usageFigures(usage: NonNullable<Turn["usage"]>, answerS: number): Child[] {
  const tokens = usage.completion_tokens;
  return [figure(num(tokens), null, t("chat.tokens")),
    tokens > 1 && answerS > 0 ? figure(num((tokens - 1) / answerS, 0), null, "tok/s") : null,
    h("span", { class: "opt" }, `${num(usage.prompt_tokens_details.cached_tokens)} / ${num(usage.prompt_tokens)} ${t("chat.cached")}`)];
}
