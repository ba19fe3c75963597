import { fill, h } from "../dom";
import { t } from "../i18n";
import { errorNote, type Page, type Server } from "../shell";
import { changeLimits, createKey, listKeys, listPlans, revokeKey, rotateKey, type Key, type NewKey, type Plan } from "./admin";
import { confirmAction, editLimits, newKeyForm, showOnce, type LimitChoices } from "./dialogs";
import { keyTable, warnings } from "./table";
import { UsagePlate } from "./usage";

export const keysPage: Page = { path: "/keys", name: "nav.keys", start: (main, server) => new KeysPage(main, server).begin() };

const refreshMs = 5000;

class KeysPage {
  private readonly table = h("div");
  private readonly note = h("div", { "aria-live": "polite" });
  private readonly usage = new UsagePlate();
  private keys: Key[] = [];
  private plans: Plan[] = []; // those of the server's start

  constructor(private readonly main: HTMLElement, private readonly server: Server) {}

  /** Throws what the first look gives, so that an admin's key is asked for. */
  async begin(): Promise<void> {
    this.keys = await listKeys();
    if (this.keys.length > 0) this.plans = await listPlans();
    this.main.className = "keys";
    const create = h("button", { class: "pri", onclick: () => void this.create() }, t("keys.create"));
    const isOpen = this.keys.length === 0;
    fill(this.main,
      h("section", { class: "plate first" },
        h("header", {}, h("h1", {}, t("nav.keys")), h("p", {}, t("keys.hint")), isOpen ? null : h("span", { class: "end" }, create)),
        isOpen ? noKeys() : this.table, this.note),
      isOpen ? null : this.usage.element);
    if (isOpen) return;
    this.show();
    await this.usage.load(this.keys);
    setInterval(() => void this.refresh(), refreshMs);
  }

  private show(): void {
    if (this.table.contains(document.activeElement)) return; // whoever is about to press a button keeps it
    fill(this.table, keyTable(this.keys, {
      limits: (key) => void this.limits(key),
      rotate: (key) => void this.rotate(key),
      revoke: (key) => void this.revoke(key),
    }), ...warnings(this.keys));
  }

  private async refresh(): Promise<void> {
    if (document.hidden || document.querySelector("dialog[open]")) return;
    await this.guarded(async () => {
      this.keys = await listKeys();
      this.show();
    });
  }

  /** Runs what an admin asked for; a fault is told where the table is. */
  private async guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      fill(this.note);
    } catch (error) {
      fill(this.note, errorNote(error));
    }
  }

  private async changed(): Promise<void> {
    (document.activeElement as HTMLElement | null)?.blur();
    this.keys = await listKeys();
    this.show();
    await this.usage.load(this.keys);
  }

  private choices(): LimitChoices {
    return { models: this.server.models, plans: this.plans };
  }

  private async create(): Promise<void> {
    let made: NewKey | null = null as NewKey | null;
    await newKeyForm(this.choices(), async (name, role, limits) => {
      made = await createKey(name, role, limits);
    });
    if (made === null) return;
    await showOnce(made.name, made.key, this.server.origin);
    await this.guarded(() => this.changed());
  }

  private async limits(key: Key): Promise<void> {
    await editLimits(key, this.choices(), (limits) => changeLimits(key.id, limits));
    await this.guarded(() => this.changed());
  }

  private async rotate(key: Key): Promise<void> {
    const text = t(key.now.running > 0 ? "keys.rotate.breaks" : "keys.rotate.text", { running: key.now.running });
    if (!(await confirmAction(t("keys.rotate.title", { name: key.name }), text, t("keys.rotate")))) return;
    await this.guarded(async () => {
      const made = await rotateKey(key.id);
      await showOnce(made.name, made.key, this.server.origin);
      await this.changed();
    });
  }

  private async revoke(key: Key): Promise<void> {
    const text = t(key.now.running > 0 ? "keys.revoke.breaks" : "keys.revoke.text", { running: key.now.running });
    if (!(await confirmAction(t("keys.revoke.title", { name: key.name }), text, t("keys.revoke")))) return;
    await this.guarded(async () => {
      await revokeKey(key.id);
      await this.changed();
    });
  }
}

/** The server is open: nobody is an admin yet. */
function noKeys(): HTMLElement {
  return h("div", { class: "open" }, h("p", {}, t("keys.none.1")), h("p", {}, t("keys.none.2")), h("pre", { tabindex: 0 }, h("code", {}, "vitrine keys create NAME --admin")), h("p", { class: "mut" }, t("keys.none.3")));
}
