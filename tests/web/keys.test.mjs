// What an admin, a user and a stranger do on a server that has keys.
import assert from "node:assert/strict";
import { Stage } from "./stage.mjs";

let admin;
const stage = new Stage({ flags: ["--plans", "free.requests_per_minute=7", "--plans", "free.tokens_per_day=2000000"], prepare: (server) => (admin = server.keys("create", "boss", "--admin").key) });
const onPage = (name, path, key, run, options) => stage.onPage(name, path, run, options, key);

const status = async (key) => (await fetch(stage.server.url + "/v1/models", { headers: { authorization: `Bearer ${key}` } })).status;
const row = (page, name) => page.locator(".plate.first tbody tr", { hasText: name });

async function create(page, name) {
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.locator("#key-name").fill(name);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const key = await page.locator("#new-key").innerText();
  await page.getByLabel("I have stored it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await row(page, name).waitFor();
  return key;
}

onPage("a stranger is told why, and comes in with a key", "/", null, async (page) => {
  const reason = page.locator("#key-reason");
  assert.match(await reason.innerText(), /no API key/);
  assert.equal(await page.locator("#message").count(), 0);
  await page.locator("#key").fill("sk-nonsense");
  await page.locator("#key").press("Enter");
  await reason.filter({ hasText: "malformed" }).waitFor();
  await page.locator("#key").fill(admin);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.locator("#message").waitFor();
  assert.equal(await page.evaluate(() => localStorage.getItem("vitrine.key")), null, "kept for the tab alone");
  await page.getByRole("button", { name: "Forget key" }).click();
  await reason.filter({ hasText: "no API key" }).waitFor();
});

onPage("the docs are open to all, but tell a stranger no model", "/docs", null, async (page) => {
  assert.match(await page.locator("#chat pre").innerText(), /"model": "MODEL"/);
});

onPage("a user's key does not open what is for admins", "/live", () => stage.server.keys("create", "user").key, async (page) => {
  await page.locator("#key-reason").filter({ hasText: "needs the API key of an admin" }).waitFor();
});

onPage("a new key is shown once, and works", "/keys", () => admin, async (page) => {
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.locator("#key-name").fill("phone");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const key = await page.locator("#new-key").innerText();
  assert.equal(await status(key), 200);
  assert.equal(await page.getByRole("button", { name: "Done" }).isDisabled(), true);
  await page.keyboard.press("Escape");
  await page.getByText("Not stored yet?").waitFor();
  await page.locator("dialog").getByRole("button", { name: "Copy" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
  await page.getByLabel("I have stored it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await row(page, "phone").waitFor();
  assert.ok(!(await page.content()).includes(key), "the key is gone from the page");
});

onPage("a key for Prometheus reads the metrics and is marked", "/keys", () => admin, async (page) => {
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.locator("#key-name").fill("prometheus");
  await page.locator("#key-admin").check();
  await page.locator("#key-scrape").check();
  assert.equal(await page.locator("#key-admin").isChecked(), false, "a key has one role");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const key = await page.locator("#new-key").innerText();
  assert.equal(await status(key), 403);
  assert.equal((await fetch(stage.server.url + "/metrics", { headers: { authorization: `Bearer ${key}` } })).status, 200);
  await page.getByLabel("I have stored it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await row(page, "prometheus").getByText("scrape", { exact: true }).waitFor();
});

onPage("rotating gives another key, revoking none", "/keys", () => admin, async (page) => {
  const first = await create(page, "tablet");
  await row(page, "tablet").getByRole("button", { name: "Rotate" }).click();
  await page.getByRole("heading", { name: "Rotate the key of tablet?" }).waitFor();
  await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
  assert.equal(await status(first), 200);
  await row(page, "tablet").getByRole("button", { name: "Rotate" }).click();
  await page.locator("dialog").getByRole("button", { name: "Rotate" }).click();
  const second = await page.locator("#new-key").innerText();
  assert.deepEqual([await status(first), await status(second)], [401, 200]);
  await page.getByLabel("I have stored it").check();
  await page.getByRole("button", { name: "Done" }).click();
  const live = page.locator(".plate.first tbody tr:not(.dead)", { hasText: "tablet" });
  await live.getByRole("button", { name: "Revoke" }).click();
  await page.locator("dialog").getByRole("button", { name: "Revoke" }).click();
  await live.waitFor({ state: "detached" });
  assert.equal(await status(second), 401);
});

onPage("limits are set and taken away, and a wrong one is told of", "/keys", () => admin, async (page) => {
  const key = await create(page, "limited");
  const limits = () => row(page, "limited").getByRole("button", { name: "Limits" }).click();
  await limits();
  await page.locator("#requests_per_minute").fill("60");
  await page.locator("#tokens_per_day").fill("2000000");
  await page.getByRole("button", { name: "Save" }).click();
  await row(page, "limited").filter({ hasText: "of 2 M a day" }).waitFor();
  assert.match(await row(page, "limited").innerText(), /0 of 60/);
  assert.equal(await status(key), 200);
  await limits();
  assert.equal(await page.locator("#tokens_per_day").inputValue(), "2000000");
  await page.locator("#tokens_per_day").fill("9".repeat(18));
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("dialog .note.bad").filter({ hasText: "tokens_per_day" }).waitFor();
  await page.locator("#tokens_per_day").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await row(page, "limited").filter({ hasNotText: "a day" }).waitFor();
});

onPage("a key has the limits of its plan but for its own, and one without its plan is told of", "/keys", () => admin, async (page) => {
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.locator("#key-name").fill("planned");
  await page.locator("dialog summary").click();
  assert.equal(await page.locator("#requests_per_minute").getAttribute("placeholder"), "none");
  await page.locator("#plan").selectOption("free");
  assert.equal(await page.locator("#requests_per_minute").getAttribute("placeholder"), "7");
  await page.locator("#tokens_per_day").fill("4000000");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByLabel("I have stored it").check();
  await page.getByRole("button", { name: "Done" }).click();
  const planned = row(page, "planned");
  await planned.locator(".tag", { hasText: "free" }).waitFor();
  assert.match(await planned.innerText(), /0 of 7 \/ min[^]*of 4 M a day/);
  await planned.getByRole("button", { name: "Limits" }).click();
  await page.locator("#plan").selectOption("");
  await page.getByRole("button", { name: "Save" }).click();
  await planned.locator(".tag").waitFor({ state: "detached" });
  assert.deepEqual(stage.server.keys("list").keys.find(({ name }) => name === "planned").limits, { tokens_per_day: 4_000_000 });
  const { id } = stage.server.keys("create", "lost", "--plan", "gold");
  await page.reload();
  await page.getByText("lost is refused: its plan gold is not in this server's settings.").waitFor();
  stage.server.keys("revoke", id);
});

onPage("live names whose request runs", "/live", () => admin, async (page) => {
  const abort = new AbortController();
  const body = JSON.stringify({ model: "smollm2", messages: [{ role: "user", content: "Tell a long story." }], max_tokens: 4000, ignore_eos: true, stream: true });
  const headers = { "content-type": "application/json", authorization: `Bearer ${admin}` };
  const running = fetch(stage.server.url + "/v1/chat/completions", { method: "POST", headers, body, signal: abort.signal });
  await page.locator(".live tbody tr", { hasText: "boss" }).filter({ hasText: "decode" }).waitFor();
  abort.abort();
  await running.then((answered) => answered.body.cancel()).catch(() => {});
});

onPage("usage adds up, by key, model and day", "/keys", () => admin, async (page) => {
  const body = JSON.stringify({ model: "smollm2", messages: [{ role: "user", content: "hi" }], max_tokens: 4 });
  const headers = { "content-type": "application/json", authorization: `Bearer ${admin}` };
  assert.equal((await fetch(stage.server.url + "/v1/chat/completions", { method: "POST", headers, body })).status, 200);
  await page.reload();
  for (const [tab, first] of [["By key", "boss"], ["By model", "smollm2"], ["By day", new Date().toISOString().slice(0, 10)]]) {
    await page.getByRole("button", { name: tab }).click();
    await page.locator(".g2 tbody tr").filter({ hasText: first }).waitFor();
    const columns = await page.locator(".g2 tbody tr").evaluateAll((rows) => rows.map((one) => Number(one.cells[1].textContent.replaceAll(",", ""))));
    const sum = columns.pop();
    assert.equal(columns.reduce((total, value) => total + value, 0), sum);
  }
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
  assert.equal(saved.suggestedFilename(), "usage-by-day.csv");
  assert.match(await page.locator(".days").getAttribute("aria-label"), /^[1-9][\d,]* tokens in 30 days$/);
});

onPage("a phone shows the keys without scrolling sideways", "/keys", () => admin, async (page) => {
  await row(page, "boss").waitFor();
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await page.getByRole("button", { name: "Create a key" }).click();
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
}, { viewport: { width: 390, height: 844 } });
