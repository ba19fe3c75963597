// The planner, in a browser, against what `vitrine plan` says of the same.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { Stage } from "./stage.mjs";

const stage = new Stage();
const onPage = stage.onPage.bind(stage);

const planned = (...words) => JSON.parse(execFileSync(process.env.VITRINE_BINARY, ["plan", ...words, "--no-measure", "--json"]).toString());
const gib = (bytes) => (bytes / 2 ** 30).toFixed(2);
const rows = (page) => page.locator("#plan-table tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent.replaceAll(",", ""))));

onPage("the server's own model is planned for at first, up to its own context", "/planner", async (page) => {
  await page.locator("#plan-table tbody tr").first().waitFor();
  assert.equal(await page.locator("#plan-model").inputValue(), "model:smollm2");
  const shown = await rows(page);
  const told = planned(process.env.VITRINE_TEST_MODEL, "--context", "4096,8192").rows;
  assert.deepEqual(shown.map((row) => [row[0], row[2], row[5]]), told.map((row) => [String(row.context), gib(row.weights_bytes), gib(row.total_bytes)]));
});

onPage("a shape is planned for as the command does it, and says what the copied formula gets wrong", "/planner?shape=llama-3.1-8b&context=4096,131072&batch=1,8", async (page) => {
  await page.locator("#plan-table tbody tr").nth(3).waitFor();
  const told = planned("llama-3.1-8b", "--context", "4096,131072", "--batch", "1,8").rows;
  assert.deepEqual((await rows(page)).map((row) => [row[0], row[1], row[2], row[3], row[5]]), told.map((row) => [row.context, row.batch].map(String).concat([row.weights_bytes, row.kv_allocated_bytes, row.total_bytes].map(gib))));
  assert.match(await page.locator(".note.warn").innerText(), /4\.00 times too much: .*8 KV heads/);
  assert.match(await page.locator(".formula").first().innerText(), /32 layers x 8 KV heads/);
  const widths = await page.locator(".stk .b").evaluateAll((bars) => bars.map((bar) => [...bar.querySelectorAll("i")].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0)));
  assert.ok(Math.abs(widths[1] / widths[0] - told[1].total_bytes / told[0].total_bytes) < 0.05 * (told[1].total_bytes / told[0].total_bytes), "bars are to scale");
  assert.equal(await page.locator(".stk .roof").count(), 4);
  await page.locator("#plan-kv").selectOption("q8_0");
  await page.waitForURL(/kv_type=q8_0/);
  assert.match(page.url(), /shape=llama-3\.1-8b/);
});

onPage("what is typed is asked for, and a wrong value is told of without losing it", "/planner", async (page) => {
  await page.locator("#plan-table tbody tr").first().waitFor();
  await page.locator("#plan-context").fill("1024, 2048");
  await page.waitForURL(/context=1024,2048/);
  assert.deepEqual((await rows(page)).map((row) => row[0]), ["1024", "2048"]);
  await page.locator("#plan-batch").fill("0");
  await page.locator(".note.bad").filter({ hasText: "batch: whole numbers" }).waitFor();
  assert.equal(await page.locator("#plan-batch").inputValue(), "0");
  await page.locator("#plan-batch").fill("4");
  await page.waitForURL(/batch=4/);
  assert.equal(await page.locator(".note.bad").count(), 0);
  await page.getByRole("button", { name: "Copy the serve command" }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^vitrine serve smollm2 --ctx 2048 --kv-memory \d+MiB$/);
});

onPage("another model brings its own lengths", "/planner", async (page) => {
  await page.locator("#plan-table tbody tr").first().waitFor();
  await page.locator("#plan-model").selectOption("shape:gpt2");
  await page.waitForURL(/shape=gpt2&context=1024/);
  assert.match(await page.locator(".copied").innerText(), /right here/);
});

onPage("without a key the reason stands in place of the page", "/docs", async (page) => {
  await page.route("**/v1/plan?**", (route) => route.fulfill({ status: 401, json: { error: { message: "no API key", code: "invalid_api_key" } } }));
  await page.goto(stage.server.url + "/planner");
  await page.locator("#key-reason").filter({ hasText: "no API key" }).waitFor();
});

onPage("a phone scrolls it nowhere sideways; the keyboard reaches all of it; both languages and dark", "/planner?shape=llama-3.1-8b&context=4096,131072&batch=1,8", async (page) => {
  await page.locator("#plan-table tbody tr").first().waitFor();
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await page.locator("#plan-model").focus();
  const ids = [];
  for (let idx = 0; idx < 3; ++idx) {
    await page.keyboard.press("Tab");
    ids.push(await page.evaluate(() => document.activeElement.id));
  }
  assert.deepEqual(ids, ["plan-context", "plan-batch", "plan-kv"]);
  await page.locator("#lang").click();
  await page.locator("html[lang=zh-CN] #plan-table").waitFor();
  const text = await page.locator("body").innerText();
  assert.match(text, /内存规划[\s\S]*需要多少/);
  assert.doesNotMatch(text, /\bplan\.[a-z]+|undefined|NaN|\{\w+\}/);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await page.locator("#theme").click();
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), "rgb(18, 20, 23)");
}, { viewport: { width: 390, height: 844 }, hasTouch: true });
