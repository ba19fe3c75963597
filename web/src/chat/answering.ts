import { ApiError, streamChat, type Waiting } from "../api";
import type { Server } from "../shell";
import { addTurn, messages, type Conversation, type Turn } from "./conversation";
import { asFields, type Parameters } from "./parameters";

/** An answer on its way. */
export interface Answering {
  turn: Turn;
  /** Fulfilled when it has ended, in whichever way. */
  done: Promise<void>;
  stop(): void;
}

/** What is known of an answer while it comes; the server's own figures follow with its end. */
export interface Progress {
  beganMs: number;
  firstMs: number | null;
  waiting: Waiting | null; // what the server said last before there was text
  pieces: number; // of text, a token or more each
}

export const progress = new WeakMap<Turn, Progress>();

/** Adds an answer to the turn `question` and fills it; `changed` is called as text comes. */
export function ask(talk: Conversation, question: string, server: Server, parameters: Parameters, changed: () => void): Answering {
  const model = server.model?.id ?? "";
  const body = { model, messages: messages(talk, talk.turns[question] ?? null), ...asFields(parameters) };
  const turn = addTurn(talk, question, "assistant", "");
  turn.model = model;
  const abort = new AbortController();
  return { turn, stop: () => abort.abort(), done: run(turn, body, abort.signal, changed) };
}

async function run(turn: Turn, body: object, signal: AbortSignal, changed: () => void): Promise<void> {
  const state: Progress = { beganMs: performance.now(), firstMs: null, waiting: null, pieces: 0 };
  progress.set(turn, state);
  try {
    for await (const news of streamChat(body, signal)) {
      if (news.text !== "") {
        state.firstMs ??= performance.now();
        state.pieces += 1;
        turn.text += news.text;
      }
      if (news.waiting) state.waiting = news.waiting;
      if (news.requestId !== undefined) turn.requestId = news.requestId;
      if (news.finishReason !== undefined) turn.finish = news.finishReason;
      if (news.timings) turn.timings = news.timings;
      if (news.usage) turn.usage = news.usage;
      if (news.warnings) turn.warnings = news.warnings;
      changed();
    }
  } catch (error) {
    if (signal.aborted) turn.finish = "stopped";
    else turn.error = asTurnError(error);
  }
  turn.wallS = (performance.now() - state.beganMs) / 1000;
}

function asTurnError(error: unknown): NonNullable<Turn["error"]> {
  if (!(error instanceof ApiError)) return { status: -1, message: String(error), requestId: null, retryAt: null };
  const { status, message, requestId, retryAfterS } = error;
  return { status, message, requestId, retryAt: retryAfterS === null ? null : Date.now() + 1000 * retryAfterS };
}
