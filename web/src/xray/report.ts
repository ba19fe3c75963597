import "../style/tokens.css";
import "../style/base.css";
import "../style/xray.css";
import "../style/report.css";
import { fill, h } from "../dom";
import { switchLanguage, t } from "../i18n";
import { applyTheme, mark, switchTheme } from "../theme";
import { InlinedSource, type InlinedXray } from "./inlined";
import { Scene } from "./scene";
import { plateKeys, xrayParts } from "./view";

// The report: the plates of one request in a file that needs no server. Its data stands in the file.

function begin(): void {
  applyTheme();
  const main = h("main", { id: "main", class: "xray", tabindex: -1 });
  const data = JSON.parse(document.getElementById("vitrine-xray")?.textContent ?? "null") as InlinedXray | string | null;
  document.body.append(h("a", { class: "skip", href: "#main" }, t("shell.skip")), bar(), main);
  document.title = `${t("nav.xray")}: Vitrine`;
  if (data === null || typeof data === "string") return fill(main, h("h1", { class: "vh" }, t("nav.xray")), h("p", { class: "mut" }, t("xray.file.none")));
  show(main, data);
}

function show(main: HTMLElement, data: InlinedXray): void {
  const asked = new URLSearchParams(location.search).get("token");
  const scene = new Scene(new InlinedSource(data), asked === null ? null : Number(asked), {});
  const parts = xrayParts(scene, []);
  plateKeys(() => scene);
  fill(main, h("h1", { class: "vh" }, t("nav.xray")), h("div", { class: "lay" }, h("div", { class: "railbox" }, parts.rail), h("div", { class: "xbody" }, ...parts.body)));
  document.title = `${data.xray.id}: Vitrine`;
}

function bar(): HTMLElement {
  return h("header", { class: "top" }, h("span", { class: "mark" }, mark(), "Vitrine"), h("span", { class: "mut sm" }, t("xray.file")),
    h("div", { class: "srv" }, h("button", { class: "q", id: "lang", lang: t("shell.language.code"), onclick: switchLanguage }, t("shell.language")), h("button", { class: "q", id: "theme", onclick: switchTheme }, t("shell.theme"))));
}

begin();
