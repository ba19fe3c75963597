import type { ChatMessage } from "./api";

// The same request in three languages, ready to paste.

export type Tongue = "curl" | "Python" | "TypeScript";
export const tongues: Tongue[] = ["curl", "Python", "TypeScript"];

export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream?: boolean;
  [field: string]: unknown;
}

// Fields that the official clients do not know go in by another door.
const openaiFields = new Set(["model", "messages", "stream", "temperature", "top_p", "max_tokens", "frequency_penalty", "seed", "stop", "n"]);

export function curl(origin: string, method: string, path: string, body?: unknown, hasKey = true): string {
  const lines = [method === "GET" ? `curl ${origin}${path}` : `curl -X ${method} ${origin}${path}`.replace("-X POST ", "")];
  if (hasKey) lines.push(`  -H "Authorization: Bearer $OPENAI_API_KEY"`);
  if (body !== undefined) {
    lines.push(`  -H 'Content-Type: application/json'`, `  -d ${shellQuoted(json(body))}`);
  }
  return lines.join(" \\\n");
}

/** JSON that a person reads: a field a line, and an item of an array where it is long. */
function json(body: unknown): string {
  const short = JSON.stringify(body);
  if (short.length < 60 || body === null || typeof body !== "object") return short;
  const fields = Object.entries(body).map(([name, value]) => `    ${JSON.stringify(name)}: ${indented(value, "    ")}`);
  return `{\n${fields.join(",\n")}\n  }`;
}

export function shellQuoted(text: string): string {
  return "'" + text.replaceAll("'", `'"'"'`) + "'";
}

export function chatSnippet(tongue: Tongue, origin: string, request: ChatRequest): string {
  if (tongue === "curl") return curl(origin, "POST", "/v1/chat/completions", request);
  const known = Object.entries(request).filter(([name]) => openaiFields.has(name));
  const more = Object.entries(request).filter(([name]) => !openaiFields.has(name));
  return tongue === "Python" ? pythonChat(origin, known, more) : typescriptChat(origin, known, more);
}

function pythonChat(origin: string, known: [string, unknown][], more: [string, unknown][]): string {
  const fields = known.map(([name, value]) => `    ${name}=${python(value)},`);
  if (more.length > 0) fields.push(`    extra_body=${python(Object.fromEntries(more))},`);
  const isStream = known.some(([name, value]) => name === "stream" && value === true);
  const tail = isStream
    ? `for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="", flush=True)`
    : `print(answer.choices[0].message.content)`;
  return `from openai import OpenAI\n\nclient = OpenAI(base_url="${origin}/v1")  # the key: OPENAI_API_KEY\nanswer = client.chat.completions.create(\n${fields.join("\n")}\n)\n${tail}\n`;
}

function typescriptChat(origin: string, known: [string, unknown][], more: [string, unknown][]): string {
  const line = ([name, value]: [string, unknown]): string => `  ${name}: ${indented(value, "  ")},`;
  const fields = known.map(line);
  if (more.length > 0) fields.push("  // @ts-expect-error: fields beyond OpenAI's", ...more.map(line));
  const isStream = known.some(([name, value]) => name === "stream" && value === true);
  const tail = isStream
    ? `for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta.content ?? "");`
    : `console.log(answer.choices[0].message.content);`;
  return `import OpenAI from "openai";\n\nconst client = new OpenAI({ baseURL: "${origin}/v1" }); // the key: OPENAI_API_KEY\nconst answer = await client.chat.completions.create({\n${fields.join("\n")}\n});\n${tail}\n`;
}

/** JSON as Python writes it. */
export function python(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) {
    const items = value.map(python);
    return items.join(", ").length > 60 ? `[\n${items.map((item) => `        ${item},`).join("\n")}\n    ]` : `[${items.join(", ")}]`;
  }
  if (typeof value === "object") return `{${Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}: ${python(part)}`).join(", ")}}`;
  return JSON.stringify(value);
}

function indented(value: unknown, margin: string): string {
  if (!Array.isArray(value) || JSON.stringify(value).length < 60) return JSON.stringify(value);
  return `[\n${value.map((item) => `${margin}  ${JSON.stringify(item)}`).join(",\n")}\n${margin}]`;
}
