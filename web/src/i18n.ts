import en from "./lang/en.json";
import zh from "./lang/zh-CN.json";
import { kept, keep } from "./kept";

// One flat file a language, keys by place. `{name}` in a text is filled in.
export type TextKey = keyof typeof en;
export type Language = "en" | "zh-CN";
const texts: Record<Language, Record<TextKey, string>> = { en, "zh-CN": zh };

export const language: Language = pick();
document.documentElement.lang = language;

function pick(): Language {
  const wanted = kept("lang") ?? navigator.language;
  return wanted.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export function t(key: TextKey, values: Record<string, string | number> = {}): string {
  return texts[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** The pages keep all that matters, so another language is another start. */
export function switchLanguage(): void {
  keep("lang", language === "en" ? "zh-CN" : "en");
  location.reload();
}

/** "1,234.5": alike in all languages. */
export function num(value: number, decimals = 0): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** Milliseconds as a person reads them: three digits that matter. */
export function ms(seconds: number): string {
  const value = seconds * 1000;
  if (value >= 10000) return `${num(seconds, 1)} s`;
  return `${num(value, value >= 100 ? 0 : value >= 10 ? 1 : 2)} ms`;
}

/** Two times beside each other, in one unit. */
export function msPair(first: number, second: number): string {
  const [a, b] = [first, second].map((value) => 1000 * value) as [number, number];
  const largest = Math.max(a, b);
  if (largest >= 10000) return `${num(first, 1)} / ${num(second, 1)} s`;
  const decimals = largest >= 100 ? 0 : largest >= 10 ? 1 : 2;
  return `${num(a, decimals)} / ${num(b, decimals)} ms`;
}

const hasHan = /\p{Script=Han}/u;
/** The lang attribute of a text whose language nobody told. */
export function languageOf(text: string): string | null {
  return hasHan.test(text) ? "zh-CN" : null;
}
