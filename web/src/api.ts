import { apiKey } from "./kept";
import { readEvents } from "./sse";

/** What the server says no with. status 0: it gave no answer at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code: string | null = null,
    readonly requestId: string | null = null,
    readonly retryAfterS: number | null = null,
  ) {
    super(message);
  }
}

export interface Model {
  id: string;
  context_length: number;
  alias_of?: string;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
}

/** Seconds, as docs/api.md has them. */
export interface Timings {
  load_s?: number; // conversations kept from before have none
  prepare_s: number;
  queue_s: number;
  prefill_s: number;
  decode_s: number;
  sample_s: number;
  other_s: number;
  ttft_s: number | null;
  itl_p50_s: number | null;
  itl_p99_s: number | null;
}

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

/** How far an answer without text is: its turn has not come, or its prompt is being read. */
export type Waiting =
  | { state: "queued"; position: number }
  | { state: "prefill"; tokens_done: number; tokens: number; cached_tokens: number };

interface ChatChunk {
  choices: { delta: { content?: string }; finish_reason: string | null }[];
  usage?: Usage | null;
  timings?: Timings;
  warnings?: string[];
  progress?: Waiting;
  error?: { message: string; code: string | null };
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as { error?: { message?: string; code?: string | null } } | null;
  const retry = Number(response.headers.get("retry-after") ?? NaN);
  return new ApiError(
    response.status,
    body?.error?.message ?? `HTTP ${response.status}`,
    body?.error?.code ?? null,
    response.headers.get("x-request-id"),
    Number.isFinite(retry) ? retry : null,
  );
}

/** fetch with the key in it; throws ApiError for every answer that is none. */
async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  const key = apiKey();
  if (key !== null) headers["authorization"] = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      cache: "no-store",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "no answer");
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(method, path, body, signal);
  return (await response.json()) as T;
}

/** What isn't JSON. */
export async function bytes(path: string): Promise<ArrayBuffer> {
  return (await send("GET", path)).arrayBuffer();
}

export async function text(path: string): Promise<string> {
  return (await send("GET", path)).text();
}

export async function listModels(): Promise<Model[]> {
  return (await call<{ data: Model[] }>("GET", "/v1/models")).data;
}

export interface ChatNews {
  text: string;
  requestId?: string; // with the first news
  finishReason?: string;
  usage?: Usage;
  timings?: Timings;
  warnings?: string[];
  waiting?: Waiting;
}

/** The answer to `body` (without `stream`) as it comes. */
export async function* streamChat(body: object, signal: AbortSignal): AsyncGenerator<ChatNews> {
  const request = { ...body, stream: true, stream_options: { include_usage: true, include_progress: true } };
  const response = await send("POST", "/v1/chat/completions", request, signal);
  const requestId = response.headers.get("x-request-id");
  let isWhole = false;
  if (requestId !== null) yield { text: "", requestId };
  try {
    for await (const event of readEvents(response.body!)) {
      if (event === "[DONE]") {
        isWhole = true;
        continue;
      }
      const chunk = JSON.parse(event) as ChatChunk;
      if (chunk.error) throw new ApiError(response.status, chunk.error.message, chunk.error.code, requestId);
      yield newsOf(chunk);
    }
  } catch (error) {
    if (error instanceof ApiError || signal.aborted) throw error;
    throw new ApiError(0, "the connection broke", null, requestId);
  }
  if (!isWhole) throw new ApiError(0, "the connection broke", null, requestId);
}

function newsOf(chunk: ChatChunk): ChatNews {
  const choice = chunk.choices[0];
  const news: ChatNews = { text: choice?.delta.content ?? "" };
  if (choice?.finish_reason) news.finishReason = choice.finish_reason;
  if (chunk.usage) news.usage = chunk.usage;
  if (chunk.timings) news.timings = chunk.timings;
  if (chunk.warnings) news.warnings = chunk.warnings;
  if (chunk.progress) news.waiting = chunk.progress;
  return news;
}
