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

test("two runs of tokens are aligned by what they have in common", { skip }, async () => {
  const { align } = await load("xray/align.ts");
  const pairs = (a, b) => align(a, b).map((pair) => [pair.a, pair.b]);
  assert.deepEqual(pairs([1, 2, 3], [1, 2, 3]), [[0, 0], [1, 1], [2, 2]]);
  assert.deepEqual(pairs([1, 2, 3, 9], [1, 5, 3]), [[0, 0], [1, 1], [2, 2], [3, null]]);
  assert.deepEqual(pairs([], [7]), [[null, 0]]);
  const [long, other] = [Array.from({ length: 3000 }, (_, idx) => idx), Array.from({ length: 2500 }, (_, idx) => -1 - idx)];
  assert.equal(align(long, other).length, 3000, "too large for a table");
});

test("the random number of a step is the engine's", { skip }, async () => {
  const { uniformOf } = await load("xray/philox.ts");
  assert.ok(Math.abs(uniformOf(13, 0) - 0.45243175009745906) < 1e-15);
  assert.notEqual(uniformOf(2 ** 33, 1), uniformOf(0, 1), "all bits of the seed count");
  for (const seed of [null, -1, 0.5, 2 ** 60]) assert.equal(uniformOf(seed, 0), null);
});

test("the pieces of a timeline have no gap and no overlap", { skip }, async () => {
  const { pieces, stageRows } = await load("xray/pieces.ts");
  const span = (name, start_s, end_s, parent = null) => ({ name, stage: name, start_s, end_s, parent, attributes: {} });
  const timeline = { spans: [span("socket", 2, 5), span("decode", 1, 3), span("queue", 0, 0.5), span("decode", 4, null), span("layer", 1, 2, 1)], stages: {}, unaccounted_s: 0.5, wall_s: 6 };
  const all = pieces(timeline);
  assert.deepEqual(all.map(({ name, start, end }) => [name, start, end]), [["queue", 0, 0.5], ["unaccounted", 0.5, 1], ["decode", 1, 3], ["socket", 3, 4], ["decode", 4, 6]]);
  assert.deepEqual(stageRows(timeline).map(({ name, seconds, covered }) => [name, seconds, covered]), [["queue", 0.5, 0], ["decode", 4, 0], ["socket", 1, 2]]);
});

test("bytes that are no character stand as such", { skip }, async () => {
  const { characters } = await load("xray/pieces_of_text.ts");
  assert.deepEqual(characters(new TextEncoder().encode("a你")), ["a", "你"]);
  assert.deepEqual(characters(Uint8Array.of(0xe4, 0xbd, 0x61, 0x80)), [0xe4, 0xbd, "a", 0x80]);
});
