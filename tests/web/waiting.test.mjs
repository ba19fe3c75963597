// What an answer on its way says before it has text: its place in the queue, and how much of its prompt is read.
import assert from "node:assert/strict";
import { Stage } from "./stage.mjs";

const stage = new Stage({ flags: ["--parallel", "1", "--chunk", "64"] });
const onPage = stage.onPage.bind(stage);

/** A request that runs until its `stop` is called. */
async function occupy(url) {
  const abort = new AbortController();
  const body = JSON.stringify({ prompt: "Once", max_tokens: 4000, ignore_eos: true, stream: true });
  const answered = await fetch(url + "/v1/completions", { method: "POST", headers: { "content-type": "application/json" }, body, signal: abort.signal });
  return { stop: () => abort.abort(), body: answered.body };
}

async function say(page, text) {
  await page.locator("#message").fill(text);
  await page.locator("#message").press("Enter");
}

const run = (page) => page.locator('.turn[aria-busy="true"] .run');
const answer = (page) => page.locator(".turn:not(.me)").last();

onPage("a pending answer says how many are ahead, then its turn comes", "/", async (page) => {
  const others = [await occupy(stage.server.url), await occupy(stage.server.url), await occupy(stage.server.url)];
  await say(page, "hi");
  await run(page).filter({ hasText: "waiting, 2 ahead" }).waitFor();
  others[0].stop();
  await run(page).filter({ hasText: "waiting, 1 ahead" }).waitFor();
  others[1].stop();
  await run(page).filter({ hasText: "waiting, next in line" }).waitFor();
  others[2].stop();
  await answer(page).locator(".say").filter({ hasText: /\w/ }).waitFor();
});

onPage("a long prompt shows how much of it is read", "/", async (page) => {
  await say(page, "The river runs to the sea. ".repeat(400));
  const reading = run(page).locator(".reading");
  await reading.filter({ hasText: /reading the prompt\s*\d+ %/ }).waitFor();
  assert.match(await reading.locator(".use").getAttribute("aria-label"), /^[\d,]+ of 2,8\d\d tokens of the prompt$/);
  await answer(page).locator(".say").filter({ hasText: /\w/ }).waitFor();
  assert.equal(await page.locator(".reading").count(), 0);
});

onPage("the same in Chinese", "/", async (page) => {
  const others = [await occupy(stage.server.url), await occupy(stage.server.url)];
  await say(page, "你好");
  await run(page).filter({ hasText: "排队中，前面还有 1 个" }).waitFor();
  others.forEach((other) => other.stop());
  await answer(page).locator(".say").filter({ hasText: /\S/ }).waitFor();
}, { locale: "zh-CN" });

onPage("live lists those that wait in the order in which they will begin", "/live", async (page) => {
  const others = [await occupy(stage.server.url), await occupy(stage.server.url), await occupy(stage.server.url)];
  const rows = page.locator(".live h2.second + div tbody tr");
  await rows.nth(1).locator("td:first-child").filter({ hasText: "2" }).waitFor();
  assert.deepEqual(await rows.locator("td:first-child").allInnerTexts(), ["1", "2"]);
  assert.match(await rows.nth(0).innerText(), /a place: 1 run/);
  assert.match(await rows.nth(1).innerText(), /those before it/);
  others.forEach((other) => other.stop());
  await page.getByText("Nothing waits.").waitFor();
});
