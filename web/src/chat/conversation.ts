import type { ChatMessage, Timings, Usage } from "../api";

// A conversation is a tree: an edited question or a second answer is a sibling, and of each set of siblings one is chosen.

export interface TurnError {
  status: number;
  message: string;
  requestId: string | null;
  retryAt: number | null; // milliseconds since 1970
}

export interface Turn {
  id: string;
  parent: string | null;
  role: "user" | "assistant";
  text: string;
  model?: string;
  requestId?: string;
  finish?: string; // "stop", "length", "stopped" by the reader
  usage?: Usage;
  timings?: Timings;
  wallS?: number; // from the request to its last event, as the browser saw it
  warnings?: string[];
  error?: TurnError;
}

export interface Example {
  user: string;
  assistant: string;
}

export interface Conversation {
  id: string;
  updated: number;
  system: string;
  examples: Example[];
  turns: Record<string, Turn>;
  chosen: Record<string, string>; // parent, "" for none: which of its children is shown
}

const newId = (): string => Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36).padStart(2, "0")).join("");

export function newConversation(): Conversation {
  return { id: newId(), updated: Date.now(), system: "", examples: [], turns: {}, chosen: {} };
}

export function addTurn(talk: Conversation, parent: string | null, role: Turn["role"], text: string): Turn {
  const turn: Turn = { id: newId(), parent, role, text };
  talk.turns[turn.id] = turn;
  choose(talk, turn);
  return turn;
}

export function choose(talk: Conversation, turn: Turn): void {
  talk.chosen[turn.parent ?? ""] = turn.id;
}

export function siblings(talk: Conversation, turn: Turn): Turn[] {
  return Object.values(talk.turns).filter((other) => other.parent === turn.parent);
}

/** The turns that are shown, from the first on. */
export function path(talk: Conversation): Turn[] {
  const turns: Turn[] = [];
  for (let turn = next(talk, ""); turn; turn = next(talk, turn.id)) turns.push(turn);
  return turns;
}

function next(talk: Conversation, parent: string): Turn | undefined {
  const id = talk.chosen[parent];
  return id === undefined ? undefined : talk.turns[id];
}

/** What the model is to answer: the system prompt, the examples, the turns up to and with `last`. */
export function messages(talk: Conversation, last: Turn | null): ChatMessage[] {
  const all: ChatMessage[] = [];
  if (talk.system.trim() !== "") all.push({ role: "system", content: talk.system });
  for (const { user, assistant } of talk.examples) {
    if (user.trim() === "" || assistant.trim() === "") continue;
    all.push({ role: "user", content: user }, { role: "assistant", content: assistant });
  }
  const line: Turn[] = [];
  for (let turn = last; turn; turn = turn.parent === null ? null : (talk.turns[turn.parent] ?? null)) line.unshift(turn);
  for (const turn of line) {
    if (turn.text !== "") all.push({ role: turn.role, content: turn.text });
  }
  return all;
}

export function title(talk: Conversation): string {
  const first = path(talk).find((turn) => turn.role === "user");
  return first ? first.text.trim().split("\n")[0]!.slice(0, 80) : "";
}

/** Tokens that the last answer's prompt and the answer took. */
export function tokensUsed(talk: Conversation): number {
  const usage = path(talk).findLast((turn) => turn.usage)?.usage;
  return usage ? usage.prompt_tokens + usage.completion_tokens : 0;
}
