// Modules of the pages on their own, and the two languages against each other.
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

globalThis.crypto ??= webcrypto; // as browsers have it; Node does from 20 on
const web = new URL("../../web/", import.meta.url);
const require = createRequire(new URL("package.json", web));
const esbuild = (() => {
  try {
    return require("esbuild");
  } catch {
    return null;
  }
})();
const skip = esbuild ? false : "needs the packages of web/package-lock.json";

const folder = mkdtempSync(path.join(tmpdir(), "vitrine-web-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A module of web/src as Node can load it; one that looks at no document. */
async function load(name) {
  const outfile = path.join(folder, name.replaceAll("/", "_") + ".mjs");
  await esbuild.build({ entryPoints: [fileURLToPath(new URL("src/" + name, web))], bundle: true, format: "esm", outfile, logLevel: "error" });
  return import(outfile);
}

const language = (name) => JSON.parse(readFileSync(new URL(`src/lang/${name}.json`, web), "utf8"));
const placeholders = (text) => (text.match(/\{\w+\}/g) ?? []).sort().join();

test("both languages have the same keys, with the same places to fill", () => {
  const [en, zh] = [language("en"), language("zh-CN")];
  assert.deepEqual(Object.keys(zh).sort(), Object.keys(en).sort());
  for (const [key, text] of Object.entries(en)) {
    assert.ok(text !== "" && zh[key] !== "", key);
    assert.equal(placeholders(zh[key]), placeholders(text), key);
  }
});

test("Chinese sentences have full-width marks", () => {
  for (const [key, text] of Object.entries(language("zh-CN"))) assert.doesNotMatch(text, /\p{Script=Han}[,.;:?!]/u, key);
});

test("every text that the sources name exists, and every one is used", { skip }, async () => {
  const sources = readdirSync(new URL("src/", web), { recursive: true }).filter((name) => name.endsWith(".ts"));
  const all = sources.map((name) => readFileSync(new URL("src/" + name, web), "utf8")).join("\n");
  const prefixes = ["chat.stage.", "live.head.", "keys.limit.", "keys.by.", "keys.group."]; // put together from parts
  for (const key of Object.keys(language("en"))) {
    assert.ok(all.includes(`"${key}"`) || prefixes.some((prefix) => key.startsWith(prefix)) || ["keys.limits", "keys.rotate", "keys.revoke"].includes(key), `${key} is used nowhere`);
  }
});

test("events come whole, however the bytes were cut", { skip }, async () => {
  const { EventParser } = await load("sse.ts");
  const stream = 'data: {"a":1}\n\n: a comment\n\ndata: x\r\ndata: y\r\n\r\ndata:[DONE]\n\n';
  for (let cut = 1; cut < stream.length; ++cut) {
    const parser = new EventParser();
    const events = [...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))];
    assert.deepEqual(events, ['{"a":1}', "x\ny", "[DONE]"], `cut at ${cut}`);
  }
});

test("a conversation is a tree of which one path is shown", { skip }, async () => {
  const talk = await load("chat/conversation.ts");
  const one = talk.newConversation();
  const question = talk.addTurn(one, null, "user", "a");
  talk.addTurn(one, question.id, "assistant", "b");
  const second = talk.addTurn(one, question.id, "assistant", "c");
  assert.deepEqual(talk.path(one).map((turn) => turn.text), ["a", "c"]);
  assert.equal(talk.siblings(one, second).length, 2);
  talk.choose(one, talk.siblings(one, second)[0]);
  assert.deepEqual(talk.path(one).map((turn) => turn.text), ["a", "b"]);
  one.system = "s";
  one.examples = [{ user: "u", assistant: "v" }, { user: "half", assistant: "" }];
  assert.deepEqual(talk.messages(one, talk.path(one)[1]).map((message) => message.content), ["s", "u", "v", "a", "b"]);
});

test("Markdown is cut into blocks, also while it is still being written", { skip }, async () => {
  const { parseBlocks } = await load("markdown.ts");
  const kinds = (text) => parseBlocks(text).map((block) => block.kind);
  assert.deepEqual(kinds("# a\ntext\nmore\n\n- x\n- y\n\n1. z\n> q\n---\n```js\ncode"), ["heading", "text", "list", "list", "quote", "rule", "code"]);
  const [code] = parseBlocks("```\na\n\n# b\n```\n");
  assert.deepEqual(code.lines, ["a", "", "# b"]);
  const [list] = parseBlocks("- a\n  more\n- b");
  assert.deepEqual(list.items, [["a", "more"], ["b"]]);
  assert.equal(parseBlocks("*".repeat(50_000) + "`".repeat(50_000)).length, 1);
});

test("snippets quote what a shell or a language would read", { skip }, async () => {
  const { chatSnippet, python, shellQuoted } = await load("snippets.ts");
  const request = { model: "m", messages: [{ role: "user", content: `it's "$HOME" \\ 你` }], top_k: 5, stream: true };
  const [curl, py, ts] = ["curl", "Python", "TypeScript"].map((tongue) => chatSnippet(tongue, "http://h:1", request));
  assert.equal(shellQuoted("it's"), `'it'"'"'s'`);
  assert.ok(curl.includes(`it'"'"'s \\"$HOME\\" \\\\ 你`), curl);
  assert.ok(py.includes('extra_body={"top_k": 5}') && py.includes("stream=True"), py);
  assert.ok(ts.includes("top_k: 5") && ts.includes("for await"), ts);
  assert.equal(python([true, null, "x"]), '[True, None, "x"]');
});

test("usage as CSV has no formula in it", { skip }, async () => {
  const { csv } = await load("keys/csv.ts");
  assert.equal(csv([{ name: "=1+1", requests: -3 }, { name: 'a "b", c', requests: 2 }]), `name,requests\n'=1+1,-3\n"a ""b"", c",2\n`);
});

test("plots end at round numbers, and any number of blocks fits the page", { skip }, async () => {
  const { niceTop, layout } = await load("live/scale.ts");
  assert.deepEqual([0, 0.3, 7, 96, 101].map(niceTop), [1, 0.4, 8, 100, 200]);
  for (const cells of [1, 512, 4096, 100_000]) {
    const { cell, columns } = layout(cells, 1376);
    assert.ok(cell * columns <= 1376 && cell >= 4, `${cells} cells`);
  }
});
