// What people do with the pages, in a browser, against the real model.
import assert from "node:assert/strict";
import { answerWith, Stage } from "./stage.mjs";

const pages = ["/", "/xray", "/live", "/keys", "/planner", "/docs"];
const stage = new Stage();
const onPage = stage.onPage.bind(stage);

const answer = (page, idx = -1) => page.locator(".turn:not(.me)").nth(idx);
const ended = (page) => page.locator('.turn[aria-busy="true"]').waitFor({ state: "detached" });

async function setMaxTokens(page, count) {
  await page.locator("#max_tokens").evaluate((slider, value) => {
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
  }, String(count));
}

async function say(page, text) {
  await page.locator("#message").fill(text);
  await page.locator("#message").press("Enter");
}

onPage("an answer streams, and its times add up", "/", async (page) => {
  await setMaxTokens(page, 32);
  await say(page, "Tell me a story about a river.");
  await page.locator('.turn[aria-busy="true"] .say').filter({ hasText: /\w/ }).waitFor();
  await ended(page);
  const figures = await answer(page).locator(".run").innerText();
  assert.match(figures, /TTFT [\d.,]+ m?s/);
  assert.match(figures, /32\s+tokens/);
  await answer(page).getByRole("button", { name: "Times" }).click();
  const cells = await answer(page).locator(".ledger tbody tr td:nth-child(3)").allInnerTexts();
  const values = cells.map((cell) => Number(cell.replaceAll(",", "")));
  const sum = values.pop();
  assert.ok(Math.abs(values.reduce((total, value) => total + value, 0) - sum) < 0.05, cells.join(" "));
});

onPage("Escape stops an answer, and the conversation survives a reload", "/", async (page) => {
  await setMaxTokens(page, 4096);
  await say(page, "Write a very long story about the sea, chapter by chapter.");
  await answer(page).locator(".say").filter({ hasText: /\w+ \w+/ }).waitFor();
  await page.keyboard.press("Escape");
  await ended(page);
  assert.match(await answer(page).locator(".run").innerText(), /stopped/);
  const text = await answer(page).locator(".say").innerText();
  await page.reload();
  assert.equal(await answer(page).locator(".say").innerText(), text);
  assert.equal(await page.locator(".convs li").count(), 1);
  await page.getByRole("button", { name: "New conversation" }).click();
  assert.equal(await page.locator(".turn").count(), 0);
  await page.locator(".convs li a").click();
  assert.equal(await page.locator(".turn").count(), 2);
});

onPage("what is being typed outlives the end of an answer", "/", async (page) => {
  await setMaxTokens(page, 48);
  await say(page, "Tell me a story.");
  await page.getByRole("button", { name: "Edit the system prompt" }).click();
  await page.getByRole("textbox", { name: "System prompt" }).fill("half a thou");
  await page.locator("#message").fill("and the next");
  await ended(page);
  assert.equal(await page.getByRole("textbox", { name: "System prompt" }).inputValue(), "half a thou");
  assert.equal(await page.locator("#message").inputValue(), "and the next");
});

onPage("editing a question and asking again make branches", "/", async (page) => {
  await answerWith(page, "first");
  await say(page, "one");
  await ended(page);
  await answerWith(page, "second");
  await answer(page).getByRole("button", { name: "Again" }).click();
  await page.getByText("2 / 2").waitFor();
  assert.equal(await answer(page).locator(".say").innerText(), "second");
  await page.getByRole("button", { name: "Earlier branch" }).click();
  assert.equal(await answer(page).locator(".say").innerText(), "first");
  await answerWith(page, "third");
  await page.locator(".turn.me").getByRole("button", { name: "Edit" }).click();
  await page.locator(".turn.me textarea").fill("another");
  await page.locator(".turn.me textarea").press("Enter");
  await answer(page).filter({ hasText: "third" }).waitFor();
  assert.equal(await page.locator(".turn.me .say").innerText(), "another");
  await page.locator(".turn.me").getByRole("button", { name: "Earlier branch" }).click();
  assert.equal(await page.locator(".turn.me .say").innerText(), "one");
});

onPage("system prompt, examples and parameters go into the request", "/", async (page) => {
  let body = null;
  await page.route("**/v1/chat/completions", (route) => {
    body = route.request().postDataJSON();
    return route.abort();
  });
  await page.getByRole("button", { name: "Edit the system prompt" }).click();
  await page.getByRole("textbox", { name: "System prompt" }).fill("Be brief.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Example pairs (0)").click();
  await page.getByRole("button", { name: "Add a pair" }).click();
  await page.getByRole("textbox", { name: "A question 1" }).fill("2+2?");
  await page.getByRole("textbox", { name: "The answer you want 1" }).fill("4");
  await page.locator("#seed").fill("13");
  await setMaxTokens(page, 64);
  await say(page, "3+3?");
  await page.locator(".turn .note.bad").waitFor();
  assert.deepEqual(body.messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "2+2?" },
    { role: "assistant", content: "4" },
    { role: "user", content: "3+3?" },
  ]);
  assert.equal(body.seed, 13);
  assert.equal(body.max_tokens, 64);
  assert.equal(await page.locator(".turn.me .say").innerText(), "3+3?", "what was typed is never lost");
});

const hostile = [
  "<img src=x onerror=alert(1)> <script>alert(2)</script>",
  "[click](javascript:alert(3)) [ok](https://example.org/a) **<b>bold</b>**",
  "```html\n<iframe src=//evil.example></iframe>\n```",
].join("\n\n");

onPage("hostile text stays text", "/", async (page) => {
  page.on("dialog", () => assert.fail("a script ran"));
  await answerWith(page, hostile);
  await say(page, hostile);
  await ended(page);
  const say_ = answer(page).locator(".say");
  assert.equal(await page.locator(".turn").locator("img, script, iframe, .say b").count(), 0);
  assert.match(await say_.innerText(), /<img src=x onerror=alert\(1\)> <script>alert\(2\)<\/script>/);
  assert.match(await say_.innerText(), /\[click\]\(javascript:alert\(3\)\)/);
  assert.deepEqual(await say_.locator("a").evaluateAll((links) => links.map((link) => link.href)), ["https://example.org/a"]);
  assert.equal(await say_.locator("strong").innerText(), "<b>bold</b>");
  assert.equal(await say_.locator("pre").innerText(), "<iframe src=//evil.example></iframe>");
});

onPage("429 counts down to another try", "/", async (page) => {
  await page.route("**/v1/chat/completions", (route) => route.fulfill({ status: 429, headers: { "retry-after": "2", "x-request-id": "req-1" }, json: { error: { message: "requests_per_minute: 60 are used", code: "rate_limit_exceeded" } } }));
  await say(page, "hi");
  const note = page.locator(".turn .note.bad");
  assert.match(await note.innerText(), /429 requests_per_minute: 60 are used\s+req-1/);
  const again = note.getByRole("button", { name: "Try again" });
  assert.equal(await again.isDisabled(), true);
  await page.waitForFunction(() => !document.querySelector(".note.bad button").disabled);
});

onPage("everything is there in both languages", "/", async (page) => {
  const seen = {};
  for (const language of ["en", "zh-CN"]) {
    assert.equal(await page.locator("html").getAttribute("lang"), language);
    for (const path of pages) {
      await page.goto(stage.server.url + path);
      await page.locator("main").locator("h1").first().waitFor({ state: "attached" });
      const text = await page.locator("body").innerText();
      assert.doesNotMatch(text, /\b(chat|xray|plan|live|keys|docs|shell|nav)\.[a-z]+|undefined|\{(?!id\})\w+\}/, `${language} ${path}`);
      seen[language + path] = text;
    }
    if (language === "en") await page.locator("#lang").click();
    await page.locator("html[lang=zh-CN]").waitFor();
  }
  for (const path of pages) assert.notEqual(seen["en" + path], seen["zh-CN" + path]);
  await page.reload();
  assert.equal(await page.locator("html").getAttribute("lang"), "zh-CN", "the language is kept");
});

onPage("a phone scrolls no page sideways, and reaches list and parameters", "/", async (page) => {
  await answerWith(page, "A line of code that is long:\n\n```\n" + "x".repeat(300) + "\n```\n\n" + "y".repeat(200));
  await say(page, "z".repeat(200));
  await ended(page);
  for (const path of [page.url().replace(stage.server.url, ""), ...pages.slice(1)]) {
    await page.goto(stage.server.url + path);
    await page.locator("main h1").first().waitFor({ state: "attached" });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, path);
  }
  await page.goto(stage.server.url + "/");
  await page.getByRole("button", { name: "Parameters" }).click();
  await page.locator("#temperature").waitFor();
  await page.getByRole("button", { name: "Conversations" }).click();
  await page.locator(".convs li a").waitFor();
}, { viewport: { width: 390, height: 844 }, hasTouch: true });

onPage("the keyboard alone is enough", "/", async (page) => {
  await answerWith(page, "Hello there.");
  await page.goto(stage.server.url + "/docs");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.goto(stage.server.url + "/");
  await page.locator("#message:focus").waitFor();
  await page.keyboard.type("line one");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("line two");
  await page.keyboard.press("Enter");
  await ended(page);
  assert.equal(await page.locator(".turn.me .say").innerText(), "line one\nline two");
  const names = [];
  for (let idx = 0; idx < 40 && !names.includes("Copy"); ++idx) {
    await page.keyboard.press("Shift+Tab");
    names.push(await page.evaluate(() => document.activeElement.textContent));
  }
  assert.ok(names.includes("Again") && names.includes("Copy"), names.join(", "));
});

onPage("dark is dark, and kept", "/", async (page) => {
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.equal(await background(), "rgb(255, 255, 255)");
  await page.locator("#theme").click();
  assert.equal(await background(), "rgb(18, 20, 23)");
  await page.reload();
  assert.equal(await background(), "rgb(18, 20, 23)");
});

onPage("examples carry this server's address and model, and can be copied", "/docs", async (page) => {
  await page.locator("#chat").getByRole("button", { name: "Python" }).click();
  const code = await page.locator("#chat pre").innerText();
  assert.ok(code.includes(`base_url="${stage.server.url}/v1"`) && code.includes('model="smollm2"'), code);
  await page.locator("#chat").getByRole("button", { name: "Copy" }).click();
  await page.locator("#chat").getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), code);
});

onPage("live shows a request on its way, and freezes", "/live", async (page) => {
  await page.getByText("Nothing runs.").waitFor();
  const abort = new AbortController();
  const body = JSON.stringify({ model: "smollm2", messages: [{ role: "user", content: "Tell a long story." }], max_tokens: 4000, ignore_eos: true, stream: true });
  const running = fetch(stage.server.url + "/v1/chat/completions", { method: "POST", headers: { "content-type": "application/json" }, body, signal: abort.signal });
  const row = page.locator(".live .plate table tbody tr", { hasText: "decode" });
  await row.waitFor();
  const tokens = async () => Number((await row.locator("td").nth(5).innerText()).replaceAll(",", ""));
  const before_ = await tokens();
  await page.waitForTimeout(700);
  assert.ok((await tokens()) > before_, "it goes on");
  await page.getByRole("button", { name: "Freeze the view" }).click();
  await page.getByText("Frozen at").waitFor();
  const frozen = await tokens();
  await page.waitForTimeout(500);
  assert.equal(await tokens(), frozen);
  await page.getByRole("button", { name: "Go on" }).click();
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.waitForTimeout(1000);
  assert.ok(asked.length <= 5, `${asked.length} updates in a second`);
  assert.equal(await page.locator(".plot canvas").count(), 4);
  assert.match(await page.locator(".kvm canvas").getAttribute("aria-label"), /of one request [1-9]/);
  abort.abort();
  await running.then((answered) => answered.body.cancel()).catch(() => {});
  await page.getByText("Nothing runs.").waitFor();
});

onPage("a server that is open says how to make the first key", "/keys", async (page) => {
  await page.getByText("vitrine keys create NAME --admin").waitFor();
  assert.equal(await page.getByRole("button", { name: "Create a key" }).count(), 0);
});

onPage("a server that is gone is told of, and found again", "/", async (page) => {
  await page.locator("#message").fill("kept");
  await page.route("**/*", (route) => route.abort());
  await page.locator("#message").press("Enter");
  await page.locator(".turn .note.bad").filter({ hasText: "No answer from" }).waitFor();
  await page.locator(".srv").filter({ hasText: "trying again in" }).waitFor();
  assert.equal(await page.locator(".box .pri").isDisabled(), true);
  await page.unroute("**/*");
  await page.locator(".srv").filter({ hasText: "smollm2" }).waitFor();
});
