import { call } from "../api";

// The admin's part of the API, as docs/api.md has it.

export const limitNames = ["requests_per_minute", "tokens_per_minute", "tokens_per_day", "tokens_per_month", "max_concurrent", "priority"] as const;
export type LimitName = (typeof limitNames)[number];
export type Limits = Partial<Record<LimitName, number>> & { models?: string[]; plan?: string };
export type LimitChanges = Partial<Record<LimitName, number | null>> & { models?: string[] | null; plan?: string | null };

/** Limits that the server's settings give to every key that names it. */
export interface Plan {
  name: string;
  limits: Limits;
}

export interface Key {
  id: string;
  name: string;
  role: "user" | "admin" | "scrape";
  last_characters: string;
  created: number;
  last_used: number | null;
  revoked: number | null;
  limits: Limits;
  effective_limits: Limits | null; // those of its plan among them; null: the server doesn't know its plan
  now: { running: number; requests_last_minute: number; tokens_last_minute: number; tokens_today: number; tokens_this_month: number };
}

export interface NewKey {
  id: string;
  name: string;
  key: string;
}

export type Group = "key" | "model" | "day";

export interface UsageRow {
  key?: string | null;
  name?: string | null;
  model?: string | null;
  day?: string | null;
  requests: number;
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cost: number | null;
  currency: string | null;
}

const keysPath = "/v1/admin/keys";

export const listKeys = async (): Promise<Key[]> => (await call<{ keys: Key[] }>("GET", keysPath)).keys;
export const listPlans = async (): Promise<Plan[]> => (await call<{ plans: Plan[] }>("GET", "/v1/admin/plans")).plans;
export const createKey = (name: string, role: string, limits: LimitChanges): Promise<NewKey> => call("POST", keysPath, { name, role, limits });
export const rotateKey = (id: string): Promise<NewKey> => call("POST", `${keysPath}/${id}/rotate`, {});
export const revokeKey = (id: string): Promise<unknown> => call("POST", `${keysPath}/${id}/revoke`, {});
export const changeLimits = (id: string, limits: LimitChanges): Promise<unknown> => call("PATCH", `${keysPath}/${id}/limits`, limits);

export async function usage(by: Group, from: string, key?: string): Promise<UsageRow[]> {
  const query = new URLSearchParams({ by, from, ...(key ? { key } : {}) });
  return (await call<{ rows: UsageRow[] }>("GET", `/v1/admin/usage?${query}`)).rows;
}
