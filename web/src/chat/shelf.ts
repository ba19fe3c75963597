import { keep, kept } from "../kept";
import { path, title, tokensUsed, type Conversation } from "./conversation";

// The conversations of this browser: a list of what is there, and each one under its own name.

export interface Entry {
  id: string;
  title: string;
  turns: number;
  tokens: number;
  updated: number;
}

export function entries(): Entry[] {
  const list = parse<Entry[]>(kept("chats"));
  return Array.isArray(list) ? list.sort((a, b) => b.updated - a.updated) : [];
}

export function load(id: string): Conversation | null {
  return parse<Conversation>(kept("chat." + id));
}

/** False where the browser keeps nothing more. */
export function save(talk: Conversation): boolean {
  const shown = path(talk);
  if (shown.length === 0) return true;
  const entry: Entry = {
    id: talk.id,
    title: title(talk),
    turns: shown.filter((turn) => turn.role === "user").length,
    tokens: tokensUsed(talk),
    updated: talk.updated,
  };
  const others = entries().filter((other) => other.id !== talk.id);
  return keep("chat." + talk.id, JSON.stringify(talk)) && keep("chats", JSON.stringify([entry, ...others]));
}

export function remove(id: string): void {
  keep("chat." + id, null);
  keep("chats", JSON.stringify(entries().filter((entry) => entry.id !== id)));
}

function parse<T>(text: string | null): T | null {
  try {
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}
