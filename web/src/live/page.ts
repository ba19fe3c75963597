import { ApiError, call } from "../api";
import { fill, h } from "../dom";
import { listKeys } from "../keys/admin";
import { ms, num, t } from "../i18n";
import { errorNote, showFault, type Page } from "../shell";
import { figures } from "./figures";
import { KvMap } from "./kv_map";
import { LivePlots } from "./plots";
import { keyNames, queuedTable, runningTable } from "./tables";
import type { Snapshot } from "./snapshot";

export const livePage: Page = { path: "/live", name: "nav.live", start };

const intervalMs = 250; // four times a second at most
const hiddenMs = 3000;
const oldS = 2;

/** How long ago the engine gave its figures. */
const age = (snapshot: Snapshot): number => Math.max(0, ...snapshot.models.map((model) => model.age_s));

function start(main: HTMLElement): Promise<void> {
  return new LivePage(main).begin();
}

class LivePage {
  private readonly figs = h("div", { class: "figs" });
  private readonly plots = new LivePlots();
  private readonly map = new KvMap();
  private readonly running = h("div");
  private readonly queued = h("div");
  private readonly note = h("div", { "aria-live": "polite" });
  private readonly freeze = h("button", { class: "sm", "aria-pressed": "false" }, t("live.freeze"));
  private frozen: { snapshot: Snapshot; at: Date } | null = null;
  private last: Snapshot | null = null;

  constructor(private readonly main: HTMLElement) {
    this.freeze.addEventListener("click", () => this.toggle());
  }

  /** Throws what the first look gives, so that a missing key is asked for. */
  async begin(): Promise<void> {
    let snapshot = await call<Snapshot>("GET", "/v1/admin/live");
    if (age(snapshot) > oldS) {
      // The engine makes figures for whoever looks again: the first look after a while is an old one.
      await new Promise((resolve) => setTimeout(resolve, intervalMs));
      snapshot = await call<Snapshot>("GET", "/v1/admin/live");
    }
    this.main.className = "live";
    fill(this.main, h("h1", { class: "vh" }, t("nav.live")), this.figs, this.note,
      h("section", { class: "plate" }, h("header", {}, h("h2", {}, t("live.lately")), h("p", {}, t("live.lately.hint")), h("span", { class: "end" }, this.freeze)), this.plots.element),
      h("section", { class: "plate" }, h("header", {}, h("h2", {}, t("live.running"))), this.running, h("h2", { class: "second" }, t("live.queued")), this.queued),
      this.map.element);
    this.take(snapshot);
    void this.loop();
  }

  private async loop(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, document.hidden ? hiddenMs : intervalMs));
      if (document.hidden) continue;
      try {
        this.take(await call<Snapshot>("GET", "/v1/admin/live"));
      } catch (error) {
        if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return showFault(error, this.main, () => location.reload());
        fill(this.note, errorNote(error));
        await new Promise((resolve) => setTimeout(resolve, 4000));
      }
    }
  }

  /** Names of keys that were not seen before. */
  private async learnNames(snapshot: Snapshot): Promise<void> {
    const unknown = snapshot.requests.filter(({ key_id }) => key_id !== null && !keyNames.has(key_id));
    if (unknown.length === 0) return;
    unknown.forEach(({ key_id }) => keyNames.set(key_id!, key_id!)); // asked for once, whatever comes
    for (const key of await listKeys().catch(() => [])) keyNames.set(key.id, key.name);
  }

  private take(snapshot: Snapshot): void {
    void this.learnNames(snapshot);
    this.last = snapshot;
    this.plots.remember(snapshot);
    if (!this.frozen) this.show(snapshot);
  }

  private show(snapshot: Snapshot): void {
    fill(this.figs, ...figures(snapshot));
    this.plots.show(snapshot);
    fill(this.running, runningTable(snapshot));
    fill(this.queued, queuedTable(snapshot));
    this.map.show(snapshot);
    const isOld = age(snapshot) > oldS;
    fill(this.note, isOld ? h("p", { class: "note warn" }, t("live.old", { age: ms(age(snapshot)) })) : null);
  }

  private toggle(): void {
    this.frozen = this.frozen || !this.last ? null : { snapshot: this.last, at: new Date() };
    this.freeze.setAttribute("aria-pressed", String(this.frozen !== null));
    this.freeze.textContent = this.frozen ? t("live.go") : t("live.freeze");
    if (this.frozen) fill(this.note, h("p", { class: "note" }, t("live.frozen", { time: clock(this.frozen.at) })));
    else if (this.last) this.show(this.last);
  }
}

function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => num(part).padStart(2, "0")).join(":");
}
