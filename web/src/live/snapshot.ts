/** What GET /v1/admin/live answers; docs/api.md says what each figure means. */
export interface Snapshot {
  time: number;
  models: LiveModel[];
  requests: LiveRequest[];
  window: Summary & { seconds: number };
  seconds: Columns;
}

export interface LiveModel {
  id: string;
  max_sequences: number;
  num_running: number;
  num_waiting: number;
  num_steps: number;
  num_preemptions: number;
  age_s: number;
  blocks: Blocks;
}

export interface Blocks {
  total: number;
  in_use: number;
  cached: number;
  free: number;
  tokens: number;
  bytes: number;
  map: string;
}

export interface LiveRequest {
  id: string;
  key_id: string | null;
  model: string;
  state: "queued" | "preempted" | "prefill" | "decode";
  position: number | null; // of those that wait: how many of this model's begin before it
  prompt_tokens: number;
  cached_tokens: number;
  computed_tokens: number | null;
  completion_tokens: number;
  blocks: number | null;
  elapsed_s: number;
  ttft_s: number | null;
  itl_p50_s: number | null;
}

export interface Summary {
  output_tokens: number;
  ttft_p50_s: number | null;
  ttft_p99_s: number | null;
  itl_p50_s: number | null;
  itl_p99_s: number | null;
}

/** One value a second, the oldest first. */
export type Columns = { [Name in keyof Summary]: Summary[Name][] };

/** Of all models together. */
export function allBlocks(snapshot: Snapshot): Blocks {
  const sum = { total: 0, in_use: 0, cached: 0, free: 0, tokens: 0, bytes: 0, map: "" };
  for (const { blocks } of snapshot.models) {
    sum.total += blocks.total;
    sum.in_use += blocks.in_use;
    sum.cached += blocks.cached;
    sum.free += blocks.free;
    sum.map += blocks.map;
    sum.tokens = blocks.tokens;
    sum.bytes = blocks.bytes;
  }
  return sum;
}

const rateSeconds = 3;

/** Tokens per second over the last full seconds. */
export function outputRate(snapshot: Snapshot): number {
  const latest = snapshot.seconds.output_tokens.slice(-rateSeconds);
  return latest.reduce((sum: number, tokens) => sum + tokens, 0) / rateSeconds;
}
