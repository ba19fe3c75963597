import "./style/tokens.css";
import "./style/base.css";
import "./style/chat.css";
import "./style/docs.css";
import "./style/live.css";
import "./style/keys.css";
import "./style/xray.css";
import "./style/plan.css";
import { h } from "./dom";
import { t } from "./i18n";
import { chatPage } from "./chat/page";
import { livePage } from "./live/page";
import { keysPage } from "./keys/page";
import { docsPage } from "./docs/page";
import { planPage } from "./plan/page";
import { xrayPage } from "./xray/page";
import { open, Server, topBar, type Page } from "./shell";
import { applyTheme } from "./theme";

const pages: Page[] = [chatPage, xrayPage, livePage, keysPage, planPage, docsPage];
const page = pages.find(({ path }) => path === location.pathname) ?? chatPage;
const server = new Server();
const main = h("main", { id: "main", tabindex: -1 });

applyTheme();
document.title = `${t(page.name)}: Vitrine`;
document.body.append(h("a", { class: "skip", href: "#main" }, t("shell.skip")), topBar(pages, page, server), main);
server.watch();
void open(page, main, server);
