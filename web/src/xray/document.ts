// What GET /v1/requests/{id}/xray answers; docs/api.md says what each figure means. Times in seconds, sizes in bytes.

export interface XrayDocument {
  id: string;
  model: string;
  finish_reason: string | null;
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number; prompt_tokens_details: { cached_tokens: number } };
  shape: ModelShape;
  sampling: Record<string, unknown>;
  timeline: Timeline;
  stream?: { writes: number; events: number; bytes: number } | null; // null: nothing was streamed
  latency: Record<"ttft_s" | "itl_p50_s" | "itl_p99_s" | "tpot_s" | "prefill_tokens_per_s" | "decode_tokens_per_s", number | null>;
  prompt_tokens: number;
  tokens: Token[];
  shapes: { name: string; shape: number[] }[];
  steps: Step[];
  replay: { wall_s: number; equal: boolean; first_difference: number | null; memory_bytes: number; prefill_s: number; decode_s: number };
  layers: { prefill: LayerCosts; decode: LayerCosts | null };
  roof: { gb_per_s: number; tflops: number } | null;
  kernels: string[];
  kv: KvUse;
  memory: MemoryUse | null;
  cost: Cost | null;
}

export interface ModelShape {
  architecture: string;
  num_layers: number;
  hidden_size: number;
  num_heads: number;
  num_kv_heads: number;
  head_dim: number;
  intermediate_size: number;
  vocab_size: number;
  context_length: number;
  sliding_window: number; // 0: none
  weights_bytes: number;
}

export interface Span {
  name: string;
  stage: string;
  start_s: number;
  end_s: number | null;
  parent: number | null;
  attributes: Record<string, unknown>;
}

export interface Timeline {
  spans: Span[];
  stages: Record<string, number>;
  unaccounted_s: number;
  wall_s: number;
}

export interface Token {
  id: number;
  piece: string;
  bytes_hex: string;
  special: boolean;
}

export interface Step {
  step: number;
  position: number; // of the token that it gave
  id: number;
  probability: number;
  logprob: number;
  rank: number; // from 0
  log_sum_exp: number;
  max_logit: number;
  uniform: number | null; // null: nothing was drawn
  interval: [number, number] | null;
  chain: { name: string; value?: number | null; survivors: number }[];
  entropy_bits: number;
  candidates: StepCandidate[];
  duration_s: number | null;
}

export interface StepCandidate {
  id: number;
  piece: string;
  logit: number;
  probability: number;
  after: number;
  cut_by: string | null;
}

export interface OpCost {
  name: string;
  time_s: number;
  bytes: number;
  flops: number;
}

export interface LayerCost {
  layer: number;
  time_s: number;
  bytes: number;
  flops: number;
  hidden_norm: number;
  ops: OpCost[];
}

export interface LayerCosts {
  rows: number;
  layers: LayerCost[];
  head: { time_s: number; bytes: number; flops: number };
  embedding: { time_s: number };
}

export interface KvUse {
  bytes_per_token: number;
  block_tokens: number;
  block_bytes: number;
  type: string;
  tokens_held: number;
  bytes_held: number;
  bytes_allocated: number;
  cached_tokens: number;
  prefix: { reason?: string; cached_tokens?: number; position?: number; cached_text?: string; requested_text?: string } | null;
  blocks: { block: number; filled: number; prompt_tokens: number }[];
}

export type MemoryUse = Record<"weights_bytes" | "kv_bytes" | "activations_bytes" | "scratch_bytes" | "prefix_cache_bytes" | "other_bytes", number> & { rss_bytes: number | null };

export interface Cost {
  currency: string;
  input_per_million: number;
  cached_input_per_million: number;
  output_per_million: number;
  prompt: number;
  cached: number;
  answer: number;
  total: number;
  per_100000_calls: number;
  prices_dated: string;
}

/** What a residual would have said after each layer, for neighbouring positions. */
export interface LensWindow {
  first: number;
  count: number;
  layers: LensCell[][]; // [num_layers + 1][count]
}

export interface LensCell {
  id: number;
  piece: string;
  probability: number;
  is_final: boolean;
}

/** Positions that were computed: all but that of the last token. */
export const numComputed = (doc: XrayDocument): number => Math.max(1, doc.tokens.length - 1);

/** The step that gave the token at `position`; null for one of the prompt. */
export const stepAt = (doc: XrayDocument, position: number): Step | null => doc.steps[position - doc.prompt_tokens] ?? null;
