import { ApiError, listModels, type Model } from "./api";
import { fill, h } from "./dom";
import { switchLanguage, t, type TextKey } from "./i18n";
import { apiKey, setApiKey } from "./kept";
import { mark, switchTheme } from "./theme";

// What all pages have: the bar at the top with the server's state, and what stands in place of a page that can't be shown.

export interface Page {
  path: string;
  name: TextKey;
  /** Fills `main`. An ApiError of 401 or 403 that it throws brings the key field. */
  start(main: HTMLElement, server: Server): void | Promise<void>;
  /** The page is of use to someone who may not use the API. */
  isOpen?: boolean;
}

const healthIntervalMs = 15_000;
const retryS = 4;

/** The server as the pages know it, and whether it answers. */
export class Server extends EventTarget {
  models: Model[] = [];
  isOnline = true;
  retryInS = 0;

  readonly origin = location.origin;

  get model(): Model | null {
    return this.models[0] ?? null;
  }

  async load(): Promise<void> {
    this.models = (await listModels()).filter((model) => model.alias_of === undefined);
    this.dispatchEvent(new Event("change"));
  }

  watch(): void {
    void this.check();
  }

  /** Called as well where a request got no answer. */
  async check(): Promise<void> {
    const isOnline = await fetch("/health", { cache: "no-store" }).then(() => true, () => false);
    if (isOnline !== this.isOnline) {
      this.isOnline = isOnline;
      this.dispatchEvent(new Event("change"));
    }
    if (isOnline) {
      setTimeout(() => void this.check(), healthIntervalMs);
    } else {
      this.countDown(retryS);
    }
  }

  private countDown(seconds: number): void {
    this.retryInS = seconds;
    this.dispatchEvent(new Event("change"));
    if (seconds === 0) void this.check();
    else setTimeout(() => this.countDown(seconds - 1), 1000);
  }
}

export function topBar(pages: Page[], current: Page, server: Server): HTMLElement {
  const state = h("span", { role: "status" });
  const show = (): void => {
    const dot = h("i", { class: server.isOnline ? "dot" : "dot off" });
    if (!server.isOnline) return fill(state, dot, t("shell.offline", { host: location.host, seconds: server.retryInS }));
    fill(state, dot, server.model?.id ?? "", " ", h("span", { class: "mono" }, location.host));
  };
  server.addEventListener("change", () => {
    show();
    document.documentElement.classList.toggle("offline", !server.isOnline);
  });
  show();
  const forget = h("button", { class: "q", onclick: forgetKey, title: t("shell.forget.title") }, t("shell.forget"));
  forget.hidden = apiKey() === null;
  return h("header", { class: "top" },
    h("a", { class: "mark", href: "/" }, mark(), "Vitrine"),
    h("nav", { "aria-label": t("shell.pages") },
      ...pages.map((page) => h("a", { href: page.path, "aria-current": page === current ? "page" : null }, t(page.name)))),
    h("div", { class: "srv" }, state, forget,
      h("button", { class: "q", id: "lang", lang: t("shell.language.code"), onclick: switchLanguage }, t("shell.language")),
      h("button", { class: "q", id: "theme", onclick: switchTheme }, t("shell.theme"))));
}

function forgetKey(): void {
  setApiKey(null);
  location.reload();
}

/** In place of a page: the server's own reason, and a field for the key. */
export function keyForm(error: ApiError): HTMLElement {
  const field = h("input", { id: "key", type: "password", class: "mono", autocomplete: "off", spellcheck: "false", placeholder: "sk-…", "aria-describedby": "key-reason" });
  const remember = h("input", { type: "checkbox" });
  const submit = (event: Event): void => {
    event.preventDefault();
    const key = field.value.trim();
    if (key === "") return;
    setApiKey(key, remember.checked);
    location.reload();
  };
  queueMicrotask(() => field.focus());
  return h("section", { class: "gate" },
    h("h1", {}, t("shell.key.title")),
    h("p", { class: "note bad", id: "key-reason", lang: "en" }, error.message),
    h("form", { onsubmit: submit },
      h("label", { for: "key" }, t("shell.key.label")), field,
      h("label", { class: "check" }, remember, t("shell.key.remember")),
      h("button", { class: "pri", type: "submit" }, t("shell.key.use"))),
    h("p", { class: "mut sm" }, t("shell.key.make"), " ", h("code", {}, "vitrine keys create NAME")));
}

/** What went wrong, why, and what to quote to whoever runs the server. */
export function errorNote(error: unknown): HTMLElement {
  const known = error instanceof ApiError ? error : new ApiError(-1, error instanceof Error ? error.message : String(error));
  const what = known.status === 0 ? t("shell.noanswer", { host: location.host }) : known.message;
  return h("p", { class: "note bad", role: "alert" },
    known.status > 0 ? h("b", { class: "num" }, `${known.status} `) : null, what,
    known.requestId ? h("span", { class: "mono mut" }, ` ${known.requestId}`) : null);
}

/** Shows the page, or the key field, or the fault. */
export async function open(page: Page, main: HTMLElement, server: Server): Promise<void> {
  try {
    const loading = server.load();
    if (page.isOpen) await loading.catch(() => {});
    else await loading;
    await page.start(main, server);
  } catch (error) {
    showFault(error, main, () => void open(page, main, server));
  }
}

export function showFault(error: unknown, main: HTMLElement, again: () => void): void {
  main.className = "";
  if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return fill(main, keyForm(error));
  fill(main, h("section", { class: "gate" }, errorNote(error), h("button", { onclick: again }, t("shell.again"))));
  if (error instanceof ApiError && error.status === 0) setTimeout(again, 1000 * retryS);
}
