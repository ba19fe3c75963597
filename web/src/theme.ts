import { svg } from "./dom";
import { keep, kept } from "./kept";

export const mark = (): SVGElement =>
  svg("svg", { viewBox: "0 0 17 17", "aria-hidden": "true" },
    svg("path", { d: "M1.5 5.5h10v10h-10zM5.5 1.5h10v10M1.5 5.5l4-4M11.5 5.5l4-4M11.5 15.5l4-4" }));

export function applyTheme(): void {
  const theme = kept("theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset["theme"] = theme;
}

export function switchTheme(): void {
  const root = document.documentElement;
  const isDark = (root.dataset["theme"] ?? (matchMedia("(prefers-color-scheme:dark)").matches ? "dark" : "light")) === "dark";
  root.dataset["theme"] = isDark ? "light" : "dark";
  keep("theme", isDark ? "light" : "dark");
  dispatchEvent(new Event("themechange"));
}
