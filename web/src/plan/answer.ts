import { call } from "../api";

/** What GET /v1/plan answers; docs/api.md says what each figure means. */
export interface Plan {
  model: { name: string; weights: string; parameters: number; context_length: number; is_computed: boolean; note: string };
  machine: { cpu?: string; available_memory_bytes: number; memory_bytes?: number; held_by_server_bytes: number; threads?: number; isa?: string };
  rows: PlanRow[];
  choices: { models: string[]; shapes: string[]; kv_types: string[] };
}

export interface PlanRow {
  context: number;
  batch: number;
  kv_type: string;
  weights_bytes: number;
  kv_bytes: number;
  kv_allocated_bytes: number;
  activations_bytes: number;
  scratch_bytes: number;
  other_bytes: number;
  total_bytes: number;
  fits: boolean;
  max_context: number;
  max_batch: number;
  prefill_tokens_per_s: number | null;
  decode_tokens_per_s: number | null;
  kv_formula: { text: string; bytes: number; copied_text: string; copied_bytes: number; copied_ratio: number; reasons: string[] };
}

/** What is asked, as the address and the form have it. Lists are texts, so that what a person typed stays as it was. */
export interface Question {
  subject: string; // "model:NAME", "shape:NAME"; empty: the server's first model
  context: string;
  batch: string;
  kvType: string;
  type: string;
}

const fields: [keyof Question, string][] = [["context", "context"], ["batch", "batch"], ["kvType", "kv_type"], ["type", "type"]];

export function queryOf(question: Question): string {
  const [kind, name] = split(question.subject);
  const asked = new URLSearchParams();
  if (name !== "") asked.set(kind, name);
  for (const [field, parameter] of fields) {
    const value = question[field].replaceAll(/\s+/g, "");
    if (value !== "" && (field !== "type" || kind === "shape")) asked.set(parameter, value);
  }
  return asked.toString().replaceAll("%2C", ",");
}

export function questionIn(asked: URLSearchParams): Question {
  const subject = asked.get("shape") ? `shape:${asked.get("shape")}` : asked.get("model") ? `model:${asked.get("model")}` : "";
  const text = (name: string, usual: string): string => asked.get(name) ?? usual;
  return { subject, context: text("context", ""), batch: text("batch", "1"), kvType: text("kv_type", "f16"), type: text("type", "") };
}

function split(subject: string): [string, string] {
  const colon = subject.indexOf(":");
  return [subject.slice(0, colon), subject.slice(colon + 1)];
}

export const askPlan = (question: Question, signal?: AbortSignal): Promise<Plan> => call<Plan>("GET", `/v1/plan?${queryOf(question)}`, undefined, signal);

/** 512, 1024, ... up to the model's own: what is shown where nothing else is asked for. */
export function usualContexts(limit: number): string {
  const all = [4096, 8192, 32768, 131072].filter((length) => length < limit).slice(0, 3);
  return [...all, limit].join(",");
}
