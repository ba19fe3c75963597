import { h, styled } from "../dom";
import { language, num, t } from "../i18n";
import type { Key, LimitName, Limits } from "./admin";

export interface KeyActions {
  limits(key: Key): void;
  rotate(key: Key): void;
  revoke(key: Key): void;
}

/** Shares of a limit from here on deserve a word. */
const nearShare = 0.9;

export function keyTable(keys: Key[], actions: KeyActions): HTMLElement {
  const live = keys.filter((key) => key.revoked === null);
  const dead = keys.filter((key) => key.revoked !== null);
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", {}, t("keys.head.name")), h("th", { class: "opt" }, t("keys.head.ends")), h("th", { class: "opt" }, t("keys.head.used")), h("th", { class: "n opt" }, t("keys.head.running")),
      h("th", { class: "opt" }, t("keys.head.requests")), h("th", { class: "n" }, t("keys.head.today")), h("th", { class: "opt" }, t("keys.head.plan")), h("th", { class: "opt" }, t("keys.head.models")), h("th"))),
    h("tbody", {}, ...live.map((key) => liveRow(key, actions)), ...dead.map(deadRow))));
}

function liveRow(key: Key, actions: KeyActions): HTMLElement {
  const action = (name: "limits" | "rotate" | "revoke", cls: string): HTMLElement =>
    h("button", { class: cls, onclick: () => actions[name](key), "aria-label": `${t(`keys.${name}`)}: ${key.name}` }, t(`keys.${name}`));
  return h("tr", { "data-key": key.id },
    h("td", {}, h("b", { class: "name" }, key.name), key.role === "user" ? null : h("span", { class: "tag on" }, key.role), key.limits.plan === undefined ? null : h("span", { class: "tag plan" }, key.limits.plan)),
    h("td", { class: "mono opt" }, "…" + key.last_characters), h("td", { class: "opt mut" }, isUsedNow(key) ? t("keys.justnow") : ago(key.last_used)), h("td", { class: "n opt" }, num(key.now.running)),
    h("td", { class: "opt mono sm" }, requestsUse(key)),
    h("td", { class: "n" }, tokens(key.now.tokens_today)), h("td", { class: "opt" }, planUse(key)),
    h("td", { class: "opt" }, limitsOf(key).models?.join(", ") ?? t("keys.any")),
    h("td", { class: "n acts" }, action("limits", "q sm"), action("rotate", "q sm"), action("revoke", "q sm bad")));
}

function deadRow(key: Key): HTMLElement {
  return h("tr", { class: "dead", "data-key": key.id }, h("td", {}, key.name), h("td", { class: "mono opt" }, "…" + key.last_characters), h("td", { class: "opt" }, ago(key.last_used)), h("td", { class: "opt" }), h("td", { class: "opt" }),
    h("td", { class: "n" }, tokens(key.now.tokens_today)), h("td", { class: "opt" }), h("td", { class: "opt" }), h("td", { class: "n" }, h("span", { class: "tag" }, t("keys.revoked", { day: day(key.revoked!) }))));
}

/** What counts: of a plan that the server doesn't know only the key's own are known. */
const limitsOf = (key: Key): Limits => key.effective_limits ?? key.limits;

function requestsUse(key: Key): string {
  const limit = limitsOf(key).requests_per_minute;
  return limit === undefined ? t("keys.none") : t("keys.permin", { used: num(key.now.requests_last_minute), limit: num(limit) });
}

/** The store notes uses once a minute only. */
const isUsedNow = ({ now }: Key): boolean => now.running > 0 || now.requests_last_minute > 0;

interface Share {
  used: number;
  limit: number;
  name: LimitName;
}

/** The limit of tokens that is nearest to its end. */
function tightest(key: Key): Share | null {
  const { now } = key;
  const limits = limitsOf(key);
  const shares: Share[] = [];
  const add = (name: LimitName, used: number): void => {
    const limit = limits[name];
    if (limit !== undefined) shares.push({ name, used, limit });
  };
  add("tokens_per_day", now.tokens_today);
  add("tokens_per_month", now.tokens_this_month);
  return shares.sort((a, b) => share(b) - share(a))[0] ?? null;
}

const share = (plan: Share): number => (plan.limit > 0 ? Math.min(1, plan.used / plan.limit) : 1);

function planUse(key: Key): HTMLElement {
  const plan = tightest(key);
  if (!plan) return h("span", { class: "mut" }, t("keys.none"));
  const isNear = share(plan) >= nearShare;
  return h("span", {},
    h("span", { class: "use" }, styled(h("i", { class: isNear ? "w" : null }), { width: `${100 * share(plan)}%` })),
    h("span", { class: "num sm" }, `${num(100 * share(plan))} %`), " ",
    h("span", { class: "mut sm" }, t(plan.name === "tokens_per_day" ? "keys.plan.day" : "keys.plan.month", { limit: limitText(plan.limit) })));
}

/** Who is about to be refused, and until when. */
export function warnings(keys: Key[]): HTMLElement[] {
  return keys.filter((key) => key.revoked === null).flatMap((key) => {
    if (key.effective_limits === null) return [h("p", { class: "note bad near" }, t("keys.noplan", { name: key.name, plan: key.limits.plan ?? "" }))];
    const plan = tightest(key);
    if (!plan || share(plan) < nearShare) return [];
    const text = t(plan.name === "tokens_per_day" ? "keys.near.day" : "keys.near.month", { name: key.name, share: num(100 * share(plan)) });
    return [h("p", { class: "note warn near" }, text)];
  });
}

/** 1,240,000 as "1.24 M". */
export function tokens(count: number): string {
  return count >= 100_000 ? `${num(count / 1e6, 2)} M` : num(count);
}

/** The same without zeros that say nothing: limits are round. */
function limitText(count: number): string {
  return count >= 100_000 ? `${(count / 1e6).toLocaleString("en-US", { maximumFractionDigits: 2 })} M` : num(count);
}

function ago(seconds: number | null): string {
  if (seconds === null) return t("keys.never");
  const past = Math.max(0, Date.now() / 1000 - seconds);
  const format = new Intl.RelativeTimeFormat(language, { style: "narrow", numeric: "auto" });
  if (past < 90) return t("keys.justnow");
  if (past < 5400) return format.format(-Math.round(past / 60), "minute");
  return past < 129_600 ? format.format(-Math.round(past / 3600), "hour") : format.format(-Math.round(past / 86_400), "day");
}

function day(seconds: number): string {
  return new Date(1000 * seconds).toISOString().slice(0, 10);
}
