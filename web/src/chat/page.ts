import type { Page, Server } from "../shell";
import { fill, h } from "../dom";
import { num, t } from "../i18n";
import { apiKey } from "../kept";
import { newConversation, tokensUsed, type Conversation, type Turn } from "./conversation";
import { Drawer } from "./drawer";
import { MessageBox } from "./box";
import { ask, type Answering } from "./answering";
import * as shelf from "./shelf";
import { Talk } from "./talk";

export const chatPage: Page = { path: "/", name: "nav.chat", start: (main, server) => void new ChatPage(main, server) };

/** Holds the open conversation and lets its parts know when it changes. */
class ChatPage {
  private talk: Conversation;
  private answering: Answering | null = null;
  private readonly list = h("ul");
  private readonly keptNote = h("p", { class: "mut xs hint" }, t("chat.kept"));
  private readonly view: Talk;
  private readonly box: MessageBox;
  private readonly drawer: Drawer;

  constructor(main: HTMLElement, private readonly server: Server) {
    const wanted = location.hash.slice(1);
    this.talk = (wanted ? shelf.load(wanted) : null) ?? newConversation();
    this.view = new Talk({
      edit: (turn, text) => this.edit(turn, text),
      again: (turn) => this.again(turn),
      choose: () => this.changed(),
      setSystem: (text) => {
        this.talk.system = text;
        this.changed();
      },
      stop: () => this.stop(),
    });
    this.drawer = new Drawer(server, () => this.talk, () => this.noted());
    this.box = new MessageBox({
      send: (text) => this.say(text),
      stop: () => this.stop(),
      openDrawer: () => this.drawer.element.classList.toggle("open"),
      openList: () => aside.classList.toggle("open"),
      newest: () => this.view.toNewest(),
    });
    const aside = h("aside", { class: "convs", "aria-label": t("chat.conversations") },
      h("button", { class: "new", onclick: () => this.open(newConversation()) }, t("chat.new")), this.list, this.keptNote);
    main.className = "chat";
    fill(main, aside, h("section", { class: "talk", "aria-label": t("nav.chat") }, h("h1", { class: "vh" }, t("nav.chat")), this.view.element, this.box.element), this.drawer.element);
    this.listen();
    this.show();
    this.box.focus();
  }

  private listen(): void {
    this.server.addEventListener("change", () => this.box.setOnline(this.server.isOnline));
    addEventListener("storage", () => this.showList());
    addEventListener("pagehide", () => void shelf.save(this.talk));
    addEventListener("hashchange", () => {
      const talk = shelf.load(location.hash.slice(1));
      if (talk && talk.id !== this.talk.id) this.open(talk);
    });
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing && this.answering) this.stop();
    });
    addEventListener("scroll", () => this.box.setBehind(!this.view.follows()), { passive: true });
  }

  private open(talk: Conversation): void {
    this.stop();
    this.talk = talk;
    history.replaceState(null, "", talk.turns && Object.keys(talk.turns).length > 0 ? "#" + talk.id : location.pathname);
    this.show();
    this.box.focus();
  }

  private say(text: string): void {
    const parent = this.view.lastTurn();
    this.answer(this.view.add(this.talk, parent, text));
  }

  private edit(turn: Turn, text: string): void {
    this.answer(this.view.add(this.talk, turn.parent, text));
  }

  private again(turn: Turn): void {
    const question = turn.parent === null ? null : this.talk.turns[turn.parent];
    if (question) this.answer(question.id);
  }

  /** Asks for an answer to the turn `question`, in place of the one that is on its way. */
  private answer(question: string): void {
    this.stop();
    const talk = this.talk;
    const answering = ask(talk, question, this.server, this.drawer.parameters, () => {
      if (this.talk === talk) this.view.update(answering.turn);
    });
    this.answering = answering;
    history.replaceState(null, "", "#" + talk.id);
    this.changed();
    this.view.toNewest();
    void answering.done.then(() => this.finished(answering, talk));
  }

  private finished(answering: Answering, talk: Conversation): void {
    if (this.answering === answering) this.answering = null;
    talk.updated = Date.now();
    this.keep(talk);
    if (this.talk === talk) {
      this.view.finish(answering.turn);
      this.showAround();
    }
    if (answering.turn.error?.status === 0) void this.server.check();
  }

  private stop(): void {
    this.answering?.stop();
  }

  private changed(): void {
    this.talk.updated = Date.now();
    this.keep(this.talk);
    this.show();
  }

  /** Something changed that the turns do not show. */
  private noted(): void {
    this.talk.updated = Date.now();
    this.keep(this.talk);
    this.showAround();
  }

  private keep(talk: Conversation): void {
    if (shelf.save(talk)) return;
    this.keptNote.className = "note warn xs hint";
    this.keptNote.textContent = t("chat.notkept");
  }

  private show(): void {
    this.view.show(this.talk, this.answering?.turn ?? null, this.server.model?.id ?? "");
    this.showAround();
  }

  private showAround(): void {
    const used = tokensUsed(this.talk);
    this.box.show(this.answering !== null, t(apiKey() === null ? "chat.context" : "chat.context.alone", { used: num(used), limit: num(this.server.model?.context_length ?? 0) }));
    this.drawer.show();
    this.showList();
  }

  private showList(): void {
    fill(this.list, ...shelf.entries().map((entry) => this.listItem(entry)));
  }

  private listItem(entry: shelf.Entry): HTMLElement {
    const open = (event: Event): void => {
      event.preventDefault();
      const talk = shelf.load(entry.id);
      if (talk) this.open(talk);
    };
    const remove = h("button", { class: "q rm", "aria-label": t("chat.delete.label", { title: entry.title }), title: t("chat.delete") }, "×");
    remove.addEventListener("click", () => {
      if (!remove.classList.contains("sure")) {
        remove.classList.add("sure");
        remove.textContent = t("chat.delete.sure");
        remove.addEventListener("blur", () => this.showList(), { once: true });
        return;
      }
      shelf.remove(entry.id);
      if (entry.id === this.talk.id) this.open(newConversation());
      else this.showList();
    });
    return h("li", {},
      h("a", { href: "#" + entry.id, onclick: open, "aria-current": entry.id === this.talk.id ? "true" : null }, entry.title || t("chat.untitled"),
        h("small", {}, t(entry.turns === 1 ? "chat.entry.one" : "chat.entry", { turns: num(entry.turns), tokens: num(entry.tokens) }))), remove);
  }
}
