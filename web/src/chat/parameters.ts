import { num, t, type TextKey } from "../i18n";
import { keep, kept } from "../kept";

// The sampler's parameters, as a request names them, and one sentence about each value.

export interface Parameters {
  temperature: number;
  top_p: number;
  top_k: number;
  max_tokens: number;
  frequency_penalty: number;
  seed: number | null; // null: another one each time
}

export interface Range {
  name: Exclude<keyof Parameters, "seed">;
  min: number;
  max: number;
  step: number;
}

export interface Context {
  limit: number; // tokens that a request may have
  used: number; // by the conversation so far
}

export function ranges(limit: number): Range[] {
  return [
    { name: "temperature", min: 0, max: 2, step: 0.05 },
    { name: "top_p", min: 0.05, max: 1, step: 0.01 },
    { name: "top_k", min: 0, max: 200, step: 1 },
    { name: "max_tokens", min: 16, max: Math.max(16, limit - (limit % 16)), step: 16 },
    { name: "frequency_penalty", min: -2, max: 2, step: 0.1 },
  ];
}

export function defaults(limit: number): Parameters {
  return { temperature: 0.7, top_p: 0.9, top_k: 0, max_tokens: Math.min(1024, limit), frequency_penalty: 0, seed: null };
}

export function loadParameters(limit: number): Parameters {
  const all = defaults(limit);
  try {
    const stored = JSON.parse(kept("parameters") ?? "{}") as Partial<Record<keyof Parameters, unknown>>;
    for (const { name, min, max } of ranges(limit)) {
      const value = stored[name];
      if (typeof value === "number" && value >= min) all[name] = Math.min(value, max);
    }
    if (typeof stored.seed === "number") all.seed = stored.seed;
  } catch {
    return defaults(limit);
  }
  return all;
}

export function saveParameters(parameters: Parameters): void {
  keep("parameters", JSON.stringify(parameters));
}

export interface Advice {
  text: string;
  isWarning: boolean;
}

export function advice(name: Range["name"], values: Parameters, context: Context): Advice {
  const say = (key: TextKey, isWarning = false, more: Record<string, string> = {}): Advice => ({ text: t(key, more), isWarning });
  const value = values[name];
  const isGreedy = values.temperature === 0;
  switch (name) {
    case "temperature":
      if (isGreedy) return say("chat.advice.temperature.zero");
      return value > 1.3 ? say("chat.advice.temperature.high", true) : say("chat.advice.temperature");
    case "top_p":
      if (isGreedy) return say("chat.advice.greedy");
      if (value === 1) return say("chat.advice.top_p.off");
      return value < 0.3 ? say("chat.advice.top_p.low") : say("chat.advice.top_p", false, { p: num(value, 2) });
    case "top_k":
      if (isGreedy) return say("chat.advice.greedy");
      if (value === 0) return say("chat.advice.top_k.off");
      return value === 1 ? say("chat.advice.top_k.one") : say("chat.advice.top_k", false, { k: num(value) });
    case "max_tokens": {
      const left = Math.max(0, context.limit - context.used);
      if (value <= left) return say("chat.advice.max_tokens", false, { left: num(left), limit: num(context.limit) });
      return say("chat.advice.max_tokens.over", true, { left: num(left), used: num(context.used) });
    }
    case "frequency_penalty":
      if (value < 0) return say("chat.advice.frequency.negative", true);
      return value > 1 ? say("chat.advice.frequency.high", true) : say("chat.advice.frequency");
  }
}

/** The fields of a request: what would change nothing is left out. */
export function asFields(values: Parameters): Record<string, number> {
  const { temperature, max_tokens, top_p, top_k, frequency_penalty, seed } = values;
  return {
    temperature,
    max_tokens,
    ...(top_p < 1 ? { top_p } : {}),
    ...(top_k > 0 ? { top_k } : {}),
    ...(frequency_penalty !== 0 ? { frequency_penalty } : {}),
    ...(seed !== null ? { seed } : {}),
  };
}
