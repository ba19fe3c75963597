import { ApiError, call, text } from "../api";
import { asFields, defaults } from "../chat/parameters";
import { fill, h, type Child } from "../dom";
import { t } from "../i18n";
import { errorNote, showFault, type Page, type Server } from "../shell";
import { AskForm } from "./ask";
import { compareView } from "./compare";
import type { Timeline, XrayDocument } from "./document";
import { faultNote } from "./faults";
import { muted, plate } from "./figures";
import { Run } from "./run";
import { saveReport } from "./save";
import { Scene } from "./scene";
import { samplerNames, type SamplerValues } from "./sampler";
import { ServerSource } from "./source";
import { ledger } from "./time";
import { plateKeys, plates, xrayParts } from "./view";

export const xrayPage: Page = { path: "/xray", name: "nav.xray", start: (main, server) => new XrayPage(main, server).begin() };

const settleTries = 4; // a request's trace is kept a moment after its last event
const settleMs = 120;

class XrayPage {
  private readonly ask: AskForm;
  private readonly rail = h("div", { class: "railbox" });
  private readonly body = h("div", { class: "xbody", "aria-live": "off" });
  private readonly note = h("div");
  private scene: Scene | null = null;
  private run: Run | null = null;

  constructor(private readonly main: HTMLElement, private readonly server: Server) {
    this.ask = new AskForm({
      run: (prompt, parameters) => void this.answer(prompt, parameters),
      stop: () => this.run?.stop(),
      compareWith: (id) => void this.compare(id),
      open: (id) => void this.open(id),
    }, server.model?.context_length ?? 4096);
    server.addEventListener("change", () => this.ask.setOnline(server.isOnline));
    plateKeys(() => this.scene);
    addEventListener("popstate", () => void this.fromUrl());
  }

  async begin(): Promise<void> {
    this.main.className = "xray";
    fill(this.main, h("h1", { class: "vh" }, t("nav.xray")), h("div", { class: "lay" }, this.rail, h("div", {}, this.ask.element, this.note, this.body)));
    await this.fromUrl();
  }

  private async fromUrl(): Promise<void> {
    const asked = new URLSearchParams(location.search);
    const id = asked.get("request");
    if (!id) return this.empty();
    await this.open(id, asked);
    const other = asked.get("with");
    if (other && this.scene) await this.compare(other);
  }

  private empty(): void {
    this.scene = null;
    fill(this.rail);
    const links = h("p", { class: "mut" }, t("xray.empty"), " ", h("a", { href: "/live" }, t("nav.live")));
    fill(this.body, ...frames((id) => (id === "p1" ? links : null)));
    this.ask.setRequest(null);
    this.ask.focus();
  }

  private async answer(prompt: string, parameters: ReturnType<typeof defaults>): Promise<void> {
    this.run?.stop();
    const request = { model: this.server.model?.id ?? "", messages: [{ role: "user", content: prompt }], ...asFields(parameters) };
    const run = new Run(request);
    this.run = run;
    this.scene = null;
    fill(this.note);
    fill(this.rail);
    fill(this.body, run.element, ...frames(() => null).slice(2));
    this.ask.setRunning(true);
    try {
      await run.start();
      if (this.run === run && run.requestId) await this.settle(run.requestId);
    } catch (error) {
      if (this.run === run) this.failed(error, () => void this.answer(prompt, parameters));
    } finally {
      if (this.run === run) this.ask.setRunning(false);
    }
  }

  private failed(error: unknown, again: () => void): void {
    if (error instanceof DOMException && error.name === "AbortError") return fill(this.note, muted(t("xray.run.stopped")));
    if (isLockedOut(error)) return showFault(error, this.main, () => location.reload());
    if (error instanceof ApiError && error.status === 0) void this.server.check();
    fill(this.note, faultNote(error, again));
  }

  /** The X-ray of the run that has just ended. */
  private async settle(id: string): Promise<void> {
    for (let idx = 1; ; ++idx) {
      try {
        return this.show(await ServerSource.open(id), new URLSearchParams());
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 404) || idx >= settleTries) return this.withoutXray(id, error);
        await new Promise((resolve) => setTimeout(resolve, settleMs));
      }
    }
  }

  private async open(id: string, asked = new URLSearchParams()): Promise<void> {
    fill(this.note);
    fill(this.body, ...frames(() => null));
    try {
      this.show(await ServerSource.open(id), asked);
    } catch (error) {
      if (isLockedOut(error)) throw error;
      await this.withoutXray(id, error);
    }
  }

  /** What is left of a request that can't be run again: its timeline, where that is kept. */
  private async withoutXray(id: string, error: unknown): Promise<void> {
    this.scene = null;
    const trace = error instanceof ApiError && error.status >= 400 && error.status < 429 ? await call<Timeline>("GET", `/v1/requests/${encodeURIComponent(id)}/trace`).catch(() => null) : null;
    this.ask.setRequest(trace ? id : null);
    if (!trace) return fill(this.note, faultNote(error, () => void this.open(id).catch((fault) => showFault(fault, this.main, () => location.reload()))));
    const reason = error instanceof ApiError && error.status !== 404 ? h("span", { lang: "en" }, error.message) : t("xray.partial");
    const partial = h("p", { class: "mut" }, reason, " ", h("code", {}, "vitrine explain"));
    fill(this.body, plate(1, "p1", t("xray.time"), t("xray.time.hint"), null, h("div", { class: "scroll" }, ledger(trace, null))), ...frames((plateId) => (plateId === "p2" ? partial : null)).slice(1));
  }

  private show(source: ServerSource, asked: URLSearchParams): void {
    const token = asked.get("token");
    const scene = new Scene(source, token === null ? null : Number(token), valuesIn(asked));
    this.scene = scene;
    const parts = xrayParts(scene, this.links(source));
    fill(this.rail, parts.rail);
    fill(this.body, ...parts.body);
    this.ask.setRequest(source.document.id);
    const remember = (): void => {
      if (this.scene === scene) history.replaceState(null, "", urlOf(scene));
    };
    scene.addEventListener("move", settled(remember));
    scene.addEventListener("values", settled(remember));
    remember();
  }

  private links(source: ServerSource): Child[] {
    const { id } = source.document;
    const save: HTMLButtonElement = h("button", { class: "lk", type: "button", onclick: () => void this.save(source, save) }, t("xray.save"));
    return [h("a", { href: "/" }, t("xray.chat")), h("button", { class: "lk", type: "button", onclick: () => void this.saveTrace(id) }, t("xray.chrome")), save];
  }

  private async save(source: ServerSource, button: HTMLButtonElement): Promise<void> {
    button.disabled = true;
    const told = (share: number): void => void (button.textContent = t("xray.saving", { share: Math.round(100 * share) }));
    told(0);
    const chosen = Number(this.body.querySelector<HTMLSelectElement>("#ly")?.value ?? 0);
    const layers = [chosen, ...source.attentionLayers().filter((layer) => layer !== chosen && layer % 6 === 0)];
    await saveReport(source, layers, told).catch((error: unknown) => fill(this.note, errorNote(error)));
    button.disabled = false;
    button.textContent = t("xray.save");
  }

  private async saveTrace(id: string): Promise<void> {
    try {
      const json = await text(`/v1/requests/${encodeURIComponent(id)}/trace?format=chrome`);
      const url = URL.createObjectURL(new Blob([json], { type: "application/json" }));
      h("a", { href: url, download: `${id}.trace.json` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) {
      fill(this.note, errorNote(error));
    }
  }

  private async compare(other: string): Promise<void> {
    const scene = this.scene;
    if (!scene) return;
    try {
      const { document } = await ServerSource.open(other);
      this.showComparison(scene, document);
    } catch (error) {
      fill(this.note, faultNote(error, () => void this.compare(other)));
    }
  }

  private showComparison(scene: Scene, other: XrayDocument): void {
    fill(this.note);
    fill(this.rail);
    this.scene = null;
    history.replaceState(null, "", `?request=${encodeURIComponent(scene.doc.id)}&with=${encodeURIComponent(other.id)}`);
    const back = h("button", { class: "lk", type: "button", onclick: () => this.show(scene.source as ServerSource, new URLSearchParams({ token: String(scene.position) })) }, t("xray.compare.back"));
    fill(this.body, ...compareView(scene.doc, other, [back]));
  }
}

const isLockedOut = (error: unknown): boolean => error instanceof ApiError && (error.status === 401 || error.status === 403);

/** Calls when nothing has come for a while: browsers bound how often the address may change. */
function settled(call: () => void): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(call, 150);
  };
}

/** The plates without data: their names and hairlines. */
function frames(inside: (id: string) => Child): HTMLElement[] {
  return plates.map(({ number, id, name }) => h("section", { class: "plate frame" }, h("header", {}, h("span", { class: "no" }, number), h("h2", {}, t(name))), inside(id)));
}

function valuesIn(asked: URLSearchParams): Partial<SamplerValues> {
  const values: Partial<SamplerValues> = {};
  for (const name of samplerNames) {
    const value = Number(asked.get(name) ?? NaN);
    if (Number.isFinite(value) && value >= 0) values[name] = value;
  }
  return values;
}

function urlOf(scene: Scene): string {
  const asked = new URLSearchParams({ request: scene.doc.id, token: String(scene.position) });
  for (const name of scene.changedValues()) asked.set(name, String(scene.values[name]));
  return `?${asked.toString()}`;
}
