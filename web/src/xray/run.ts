import { streamChat, type Timings } from "../api";
import { parts } from "../chat/timeline";
import { fill, h } from "../dom";
import { languageOf, ms, num, t } from "../i18n";
import { cellBar, head, milli, plate, segment, swatch } from "./figures";

const refreshMs = 100;

/** A run on its way: the timeline grows with what the browser has seen, until the server's own figures are there. */
export class Run {
  readonly element = h("div", { "aria-busy": "true" });
  requestId: string | null = null;
  finishReason: string | null = null;
  private readonly abort = new AbortController();
  private readonly bar = h("div", { class: "bar", role: "img" });
  private readonly body = h("tbody");
  private readonly words = h("p", { class: "sm mut", "aria-live": "polite" });
  private readonly answer = h("div", { class: "answer" });
  private readonly beganMs = performance.now();
  private readonly arrivals: number[] = []; // of each piece of text, milliseconds since the start
  private endMs: number | null = null;
  private timings: Timings | null = null;
  private text = "";
  private timer = 0;

  constructor(private readonly request: object) {
    fill(this.element, plate(1, "p1", t("xray.time"), t("xray.run.growing"), null, this.bar, this.words,
      h("div", { class: "scroll" }, h("table", { id: "ledger" }, head([[t("xray.time.stage")], [t("xray.time.time"), "n"], ["", "b"]]), this.body))),
      plate(2, "p2", t("xray.tokens"), null, null, this.answer));
  }

  /** Fulfilled with the end of the answer; throws what streamChat() throws. */
  async start(): Promise<void> {
    this.timer = window.setInterval(() => this.show(), refreshMs);
    try {
      for await (const news of streamChat(this.request, this.abort.signal)) {
        if (news.requestId) this.requestId = news.requestId;
        if (news.text !== "") this.arrivals.push(performance.now() - this.beganMs);
        if (news.finishReason) this.finishReason = news.finishReason;
        if (news.timings) this.timings = news.timings;
        this.text += news.text;
      }
    } finally {
      clearInterval(this.timer);
      this.endMs = performance.now() - this.beganMs;
      this.element.removeAttribute("aria-busy");
      this.show();
    }
  }

  stop(): void {
    this.abort.abort();
  }

  private show(): void {
    const wallS = (this.endMs ?? performance.now() - this.beganMs) / 1000;
    const stages = this.stages(wallS);
    const most = Math.max(...stages.map(({ seconds }) => seconds), 1e-6);
    fill(this.bar, ...this.segments(wallS));
    this.bar.setAttribute("aria-label", stages.map(({ name, seconds }) => `${name} ${ms(seconds)}`).join(", "));
    fill(this.body, ...stages.map(({ stage, name, seconds, isOpen }) =>
      h("tr", { class: isOpen ? "open" : null }, h("td", {}, swatch(`c-${stage}`), name), h("td", { class: "n" }, milli(seconds)), h("td", { class: "b" }, cellBar(seconds / most, `c-${stage}`)))),
      h("tr", { class: "sum" }, h("td", {}, "wall"), h("td", { class: "n" }, milli(wallS)), h("td")));
    this.words.textContent = this.wordsAt(wallS);
    this.answer.lang = languageOf(this.text) ?? "";
    this.answer.textContent = this.text;
  }

  private stages(wallS: number): { stage: string; name: string; seconds: number; isOpen: boolean }[] {
    if (this.timings) return parts(this.timings, wallS).filter(({ seconds }) => seconds > 0).map((part) => ({ ...part, isOpen: false }));
    const firstS = (this.arrivals[0] ?? 1000 * wallS) / 1000;
    const first = { stage: "prefill", name: t("chat.live.first"), seconds: firstS, isOpen: this.arrivals.length === 0 };
    return this.arrivals.length === 0 ? [first] : [first, { stage: "decode", name: t("chat.live.rest"), seconds: wallS - firstS, isOpen: true }];
  }

  private segments(wallS: number): HTMLElement[] {
    const ends = this.arrivals.length === 0 ? [1000 * wallS] : [...this.arrivals, 1000 * wallS];
    const each = Math.ceil(ends.length / 400);
    return ends.filter((_, idx) => idx === 0 || idx % each === 0 || idx === ends.length - 1).map((end, idx, kept) => {
      const size = (end - (idx === 0 ? 0 : kept[idx - 1]!)) / 1000;
      return segment(idx === 0 ? "c-prefill" : "c-decode", size / wallS, ms(size));
    });
  }

  private wordsAt(wallS: number): string {
    if (this.endMs !== null) return t("xray.run.replaying");
    if (this.arrivals.length > 0) return t("xray.run.pieces", { count: num(this.arrivals.length), ms: ms(wallS) });
    return wallS > 1 ? `${t("chat.live.prompt")}, ${ms(wallS)}` : ms(wallS);
  }
}
