// What people do with the X-ray, in a browser, over a fixture that follows docs/api.md figure by figure.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Stage } from "./stage.mjs";
import { XrayFixture } from "./xray_fixture.mjs";

const reference = fileURLToPath(new URL("sampler_reference.py", import.meta.url));
const stage = new Stage();
/** The page begins elsewhere so that the routes are there first. */
const onPage = (name, run, options) => stage.onPage(name, "/docs", run, options);

const plates = async (page) => page.locator("#p8 table").first().waitFor();

async function open(page, fixture, asked = "") {
  await fixture.route(page);
  await page.goto(`${stage.server.url}/xray?request=${fixture.id}${asked}`);
  await plates(page);
}

const figure = (text) => Number(text.replaceAll(/[,%]|MB|ms|bit/g, ""));
/** The address follows a moment later. */
const address = (page, pattern) => page.waitForURL(pattern);
const token = (page, position) => page.locator(`.strip button[data-position="${position}"]`);

onPage("one cursor drives every plate, and stands in the address", async (page) => {
  const fixture = new XrayFixture();
  await open(page, fixture, "&token=45");
  const facts = () => page.locator(".cur").innerText();
  assert.match(await facts(), /45 generated/);
  await page.locator("#lens .hit").first().waitFor();
  await token(page, 59).click();
  await address(page, /request=req-fixture&token=59$/);
  assert.match(await facts(), new RegExp(`59 generated[\\s\\S]*id\\s+${fixture.ids[59]}`));
  assert.match(await page.locator("#p1 .two").innerText(), /Step 20/);
  assert.equal(await page.locator("#whole, #p1 .bar i.hi").getAttribute("data-step"), "20");
  await page.locator("#lens th.on").filter({ hasText: "59" }).waitFor();
  assert.equal(await page.locator(".blk .now").getAttribute("title"), "position 59");
  assert.match(await page.locator("#cands tr.win").innerText(), new RegExp(`\\b${fixture.ids[59]}\\b`));
  await page.locator("#p5").scrollIntoViewIfNeeded();
  await page.locator("#rowtop").filter({ hasText: "59" }).waitFor();
  await page.locator('#p1 .bar i[data-step="5"]').click();
  assert.match(await facts(), /44 generated/);
  await page.locator('.blk .cells [title="position 3"]').click();
  assert.match(await facts(), /3 prompt[\s\S]*given/);
  await page.locator('#lens button[data-position="4"]').first().click();
  assert.match(await facts(), /4 prompt/);
  await page.getByRole("button", { name: "Next token" }).click();
  await address(page, /token=5$/);
});

onPage("the times add up to the wall, the lens and the layers to what the server said", async (page) => {
  const fixture = new XrayFixture();
  await open(page, fixture);
  const cells = await page.locator("#ledger tbody tr td:nth-child(4)").allInnerTexts();
  const values = cells.map(figure);
  const wall = values.pop();
  assert.ok(Math.abs(values.reduce((sum, value) => sum + value, 0) - wall) < 0.06, cells.join(" "));
  assert.ok(Math.abs(wall - 1000 * fixture.wall) < 0.01);
  const layers = (await page.locator("#layers tbody tr td:nth-child(3)").allInnerTexts()).map(figure);
  const sum = layers.pop();
  assert.ok(Math.abs(layers.reduce((total, value) => total + value, 0) - sum) < 3);
  await page.locator("#lens .hit").first().waitFor();
  const shown = await page.locator('#lens tbody tr:nth-child(31) button[data-position="40"]').getAttribute("title");
  const cell = fixture.lens(39, 1).layers[30][0];
  assert.equal(shown, `layer 29: ${cell.piece.replace(/^ /, "·")} ${(100 * cell.probability).toFixed(1)} %`);
  assert.match(await page.locator("#cost").innerText(), /0\.00001395/);
});

/** What Python makes of the same logits. */
function computedByPython(cases) {
  return execFileSync("python3", [reference], { input: cases.map((one) => JSON.stringify(one)).join("\n") }).toString().trim().split("\n").map((line) => JSON.parse(line));
}

async function setSlider(page, name, value) {
  await page.locator(`#x-${name}`).evaluate((slider, to) => {
    slider.value = String(to);
    slider.dispatchEvent(new Event("input"));
  }, value);
}

onPage("sliders recompute from the stored logits, as Python does, in the same frame and without a request", async (page) => {
  const fixture = new XrayFixture({ vocab: 3000 });
  await open(page, fixture, "&token=59");
  await page.locator("#x-temperature:enabled").waitFor();
  await page.waitForLoadState("networkidle"); // the page asks for its plates meanwhile
  const asked = [];
  page.on("request", (request) => request.url().includes("/v1/") && asked.push(request.url()));
  const settings = [[0.7, 20, 0.9, 0], [1, 0, 1, 0], [2, 0, 0.95, 0], [1.5, 0, 1, 0.05], [0.3, 5, 0.5, 0.5], [0, 0, 1, 0], [1.85, 200, 1, 0]];
  const row = [...fixture.logits(20)];
  const { uniform } = fixture.steps[20];
  const expected = computedByPython(settings.map(([temperature, top_k, top_p, min_p]) => ({ logits: row, uniform, temperature, top_k, top_p, min_p })));
  for (const [idx, values] of settings.entries()) {
    for (const [at, name] of ["temperature", "top_k", "top_p", "min_p"].entries()) await setSlider(page, name, values[at]);
    await compareSampler(page, expected[idx], values);
  }
  assert.deepEqual(asked, []);
  await address(page, /temperature=1.85&top_k=200&top_p=1$/);
  await page.getByRole("button", { name: "Back to this request's values" }).click();
  assert.match(await page.locator("#why").innerText(), /This is what the request said/);
  await address(page, /token=59$/);
});

async function compareSampler(page, expected, values) {
  const chain = (await page.locator(".chain b").allInnerTexts()).slice(1, 5).map(figure);
  assert.deepEqual(chain, Object.values(expected.counts), `survivors at ${values}`);
  assert.ok(Math.abs(figure(await page.locator(".chain li:nth-child(6) b").innerText()) - expected.entropy) < 0.006, `entropy at ${values}`);
  for (const cells of await page.locator("#cands tbody tr:not(.others)").evaluateAll((rows) => rows.map((one) => [...one.cells].map((cell) => cell.textContent)))) {
    const share = expected.after[cells[1]] ?? 0;
    if (share > 0.0006) assert.ok(Math.abs(figure(cells[5]) / 100 - share) < 0.0006, `${cells.join(" ")} at ${values}, not ${share}`);
    if (share === 0) assert.match(cells[5], /^(temperature|top_k|top_p|min_p)$/);
  }
  assert.equal(await page.locator("#cands tr.win td:nth-child(2)").innerText(), String(expected.winner), `winner at ${values}`);
  if (values[0] > 0) assert.ok((await page.locator("#why").innerText()).includes(`[${expected.interval[0].toFixed(4)}, ${expected.interval[1].toFixed(4)})`));
}

onPage("values of the sampler in the address are in use", async (page) => {
  await open(page, new XrayFixture(), "&token=59&temperature=1.2&min_p=0.1");
  await page.locator("#x-temperature:enabled").waitFor();
  assert.equal(await page.locator("#x-temperature").inputValue(), "1.2");
  assert.match(await page.locator("#x-min_p").getAttribute("aria-valuetext"), /^0\.10, \d+ candidates left$/);
});

onPage("a request that used more of the sampler says what is left out", async (page) => {
  const fixture = new XrayFixture({ change: (document) => document.steps.forEach((step) => step.chain.unshift({ name: "repetition_penalty", value: 1.3, survivors: 512 })) });
  await open(page, fixture, "&token=50");
  await page.locator("#x-temperature:enabled").waitFor();
  assert.match(await page.locator(".chain").innerText(), /repetition_penalty 1\.30/);
  await setSlider(page, "temperature", 1.1);
  await page.getByText("The request also used repetition_penalty").waitFor();
});

onPage("a token shows its candidates, after a while on hover, at once on focus, pinned by Enter", async (page) => {
  const fixture = new XrayFixture();
  await open(page, fixture);
  const popover = page.locator("#pop");
  await token(page, 50).hover();
  await popover.waitFor();
  assert.match(await popover.innerText(), /position 50, chosen at rank \d/);
  assert.equal(await popover.locator("tbody tr").count(), 7);
  await page.mouse.move(2, 2);
  await popover.waitFor({ state: "hidden" });
  await token(page, 39).focus();
  assert.equal(await popover.isVisible(), true);
  await page.keyboard.press("Enter");
  await page.locator("#theme").focus();
  assert.equal(await popover.isVisible(), true, "pinned");
  await token(page, 39).focus();
  await page.keyboard.press("Escape");
  assert.equal(await popover.isVisible(), false);
});

onPage("the keyboard alone reaches every plate and token", async (page) => {
  await open(page, new XrayFixture());
  await page.locator("#lens .hit").first().waitFor();
  const focused = (selector) => page.locator(selector).evaluate((element) => element.contains(document.activeElement));
  await token(page, 39).focus();
  await page.keyboard.press("ArrowRight");
  await address(page, /token=40$/);
  await page.keyboard.press("End");
  await address(page, /token=98$/);
  await page.keyboard.press("Home");
  await address(page, /token=0$/);
  assert.equal(await page.locator(".strip").first().locator('button[tabindex="0"]').count(), 1);
  await page.locator('#lens button[tabindex="0"]').focus();
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.layer), "29");
  await page.keyboard.press("ArrowRight");
  await address(page, /token=2$/);
  await page.locator("#p5").scrollIntoViewIfNeeded();
  await page.locator('.heads button[tabindex="0"]').focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.head), "3");
  await page.locator('.cells [tabindex="0"]').focus();
  await page.keyboard.press("ArrowDown");
  await address(page, /token=18$/);
  await page.evaluate(() => (document.activeElement.blur(), scrollTo(0, 0)));
  await page.keyboard.press("]");
  assert.equal(await focused("#p1"), true);
  await page.keyboard.press("]");
  assert.equal(await focused("#p2"), true);
  await page.keyboard.press("[");
  assert.equal(await focused("#p1"), true);
  await page.keyboard.press("?");
  await page.locator("dialog").getByText("move the cursor by a token").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  assert.equal(await page.locator("dialog").count(), 0);
});

onPage("two requests stand beside each other", async (page) => {
  const [a, b] = [new XrayFixture(), new XrayFixture({ id: "req-other", seed: 2, answer: 50 })];
  await b.route(page);
  await open(page, a, "&token=45");
  await page.getByRole("button", { name: "Compare with" }).click();
  await page.locator("#other").fill("req-other");
  await page.getByRole("button", { name: "Beside this one" }).click();
  await page.locator("#figures").waitFor();
  await address(page, /request=req-fixture&with=req-other$/);
  const wall = (await page.locator("#figures tbody tr").first().locator("td").allInnerTexts()).slice(1, 4);
  assert.equal(wall[0], (1000 * a.wall).toFixed(2));
  assert.equal(wall[1], (1000 * b.wall).toFixed(2));
  assert.equal(wall[2], `−${(1000 * (a.wall - b.wall)).toFixed(2)}`);
  const [first, second] = await page.locator(".cmpbar .bar").evaluateAll((bars) => bars.map((bar) => bar.lastElementChild.getBoundingClientRect().right));
  assert.ok(second < first, "one time axis");
  assert.equal(await page.locator(".pairtok.alike").first().innerText().then((text) => new Set(text.split("\n")).size), 1);
  assert.ok((await page.locator(".pairtok.differs").count()) > 10);
  assert.match(await page.locator(".diff").innerText(), /step 0, position 39/);
  await page.reload();
  await page.locator("#figures").waitFor();
  await page.getByRole("button", { name: "Back to A alone" }).click();
  await plates(page);
});

onPage("a prompt runs, its timeline grows, and its X-ray follows", async (page) => {
  await page.route(/\/v1\/requests\/[^/]+\/xray/, async (route) => {
    const id = /requests\/([^/]+)\//.exec(route.request().url())[1];
    const fixture = new XrayFixture({ id });
    const { pathname } = new URL(route.request().url());
    if (pathname.endsWith("/xray")) return route.fulfill({ json: fixture.document });
    if (pathname.endsWith("/logits")) return route.fulfill({ status: 200, body: Buffer.from(fixture.logits(0).buffer) });
    if (pathname.endsWith("/lens")) return route.fulfill({ json: fixture.lens(0, 32) });
    return route.fulfill({ status: 200, body: Buffer.from(fixture.attention(15).buffer) });
  });
  await page.goto(stage.server.url + "/xray");
  await page.getByText("No request yet.").waitFor();
  await page.locator("#pr:focus").fill("Tell me about rivers.");
  await page.keyboard.press("Enter");
  await page.locator('[aria-busy="true"] .answer').filter({ hasText: /\w/ }).waitFor();
  assert.equal(await page.locator(".ask .pri").innerText(), "Stop");
  assert.ok((await page.locator("#p1 .bar i").count()) >= 2);
  await plates(page);
  await address(page, /request=req-[^&]+&token=39$/);
  assert.equal(await page.locator(".ask .pri").innerText(), "Run");
  assert.equal(await page.locator("#pr").inputValue(), "Tell me about rivers.");
});

onPage("what a prompt is run with goes into the request", async (page) => {
  let body = null;
  await page.route("**/v1/chat/completions", (route) => {
    body = route.request().postDataJSON();
    return route.fulfill({ status: 503, headers: { "retry-after": "2", "x-request-id": "req-9" }, json: { error: { message: "queue: full; try again", code: "queue_full" } } });
  });
  await page.goto(stage.server.url + "/xray");
  await page.locator("#pr").fill("kept");
  await page.getByText("Parameters").click();
  await page.locator("#run-temperature").fill("0.2");
  await page.locator("#run-seed").fill("13");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("queue: full").waitFor();
  assert.deepEqual([body.messages, body.temperature, body.seed, body.max_tokens, body.top_p], [[{ role: "user", content: "kept" }], 0.2, 13, 64, 0.9]);
  assert.match(await page.locator(".fault").innerText(), /503 [\s\S]*req-9/);
  const again = page.getByRole("button", { name: "Try again" });
  assert.equal(await again.isDisabled(), true);
  await page.waitForFunction(() => !document.querySelector(".fault button").disabled);
  assert.equal(await page.locator("#pr").inputValue(), "kept");
});

onPage("a request whose ids are gone shows its timeline alone", async (page) => {
  const fixture = new XrayFixture();
  await fixture.route(page, { gone: true });
  await page.goto(`${stage.server.url}/xray?request=${fixture.id}`);
  await page.getByText("ids are no longer kept").waitFor();
  assert.match(await page.locator("#ledger").innerText(), /prefill/);
});

onPage("a request that never was is told of, with the way to try again", async (page) => {
  await page.goto(stage.server.url + "/xray?request=req-none");
  const fault = page.locator(".fault");
  assert.match(await fault.innerText(), /404/);
  await new XrayFixture({ id: "req-none" }).route(page);
  await fault.getByRole("button", { name: "Try again" }).click();
  await plates(page);
});

onPage("without a key the reason stands in place of the page", async (page) => {
  await page.route("**/v1/requests/**", (route) => route.fulfill({ status: 401, json: { error: { message: "no API key", code: "invalid_api_key" } } }));
  await page.goto(stage.server.url + "/xray?request=req-1");
  await page.locator("#key-reason").filter({ hasText: "no API key" }).waitFor();
});

onPage("offline, what was loaded stays, and forms rest", async (page) => {
  await open(page, new XrayFixture());
  await page.route("**/*", (route) => route.abort());
  await page.locator("#pr").fill("kept");
  await page.keyboard.press("Enter");
  await page.locator(".srv").filter({ hasText: "trying again in" }).waitFor();
  assert.equal(await page.locator("#pr").isDisabled(), true);
  await page.unroute("**/*");
  await page.locator(".srv").filter({ hasText: "smollm2" }).waitFor();
  assert.equal(await page.locator("#pr").inputValue(), "kept");
});

onPage("parts that fail say so in their place", async (page) => {
  const fixture = new XrayFixture();
  await fixture.route(page);
  await page.route(/xray\/(lens|attention|logits)/, (route) => route.fulfill({ status: 500, json: { error: { message: "engine: failed", code: "internal" } } }));
  await page.goto(`${stage.server.url}/xray?request=${fixture.id}`);
  for (const place of [".plate4", "#p5", "#p7"]) {
    await page.locator(place).scrollIntoViewIfNeeded();
    await page.locator(place).getByText("engine: failed").waitFor();
  }
});

onPage("both languages, and no text without one", async (page) => {
  const fixture = new XrayFixture();
  await open(page, fixture);
  const english = await page.locator("body").innerText();
  await page.locator("#lang").click();
  await page.locator("html[lang=zh-CN]").waitFor();
  await plates(page);
  const chinese = await page.locator("body").innerText();
  for (const text of [english, chinese]) assert.doesNotMatch(text, /\bxray\.[a-z]+|undefined|NaN|\{\w+\}/);
  assert.match(chinese, /逐层预测[\s\S]*注意力[\s\S]*KV 缓存/);
});

onPage("a phone scrolls nothing sideways, and shows candidates as a sheet", async (page) => {
  const [a, b] = [new XrayFixture({ prompt: 200, answer: 64 }), new XrayFixture({ id: "req-other", seed: 2 })];
  await b.route(page);
  await open(page, a);
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok((await width()) <= 390);
  await token(page, 210).scrollIntoViewIfNeeded();
  await token(page, 210).tap();
  const sheet = await page.locator("#pop").boundingBox();
  assert.deepEqual([sheet.x, Math.round(sheet.width), Math.round(sheet.y + sheet.height)], [0, 390, 844]);
  await page.goto(`${stage.server.url}/xray?request=${a.id}&with=${b.id}`);
  await page.locator("#figures").waitFor();
  assert.ok((await width()) <= 390);
  const column = page.locator("#figures tbody tr").first().locator("td.of-b");
  assert.equal(await column.isVisible(), false);
  await page.getByRole("button", { name: "B", exact: true }).click();
  assert.equal(await column.isVisible(), true);
}, { viewport: { width: 390, height: 844 }, hasTouch: true });

onPage("maps follow the theme", async (page) => {
  await open(page, new XrayFixture());
  await page.locator("#p5").scrollIntoViewIfNeeded();
  const corner = () => page.locator("#map").evaluate((map) => [...map.getContext("2d").getImageData(map.width - 1, 0, 1, 1).data].slice(0, 3).join());
  await page.locator("#rowtop td").first().waitFor();
  assert.equal(await corner(), "255,255,255");
  await page.locator("#theme").click();
  assert.equal(await corner(), "18,20,23");
});

onPage("a file of its own shows the same from disk, without a server", async (page) => {
  const fixture = new XrayFixture({ prompt: 200, answer: 64, vocab: 2000 });
  await open(page, fixture, "&token=230");
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as one file" }).click()]);
  const file = `${await saved.path()}.html`;
  await saved.saveAs(file);
  assert.equal(saved.suggestedFilename(), "req-fixture.html");
  assert.ok(statSync(file).size < 3e6, `${statSync(file).size} bytes`);
  const report = await stage.browser.page("file://" + file, { offline: true });
  try {
    await plates(report);
    await report.locator(".plate4").scrollIntoViewIfNeeded();
    await report.locator("#lens .hit").first().waitFor();
    assert.match(await report.locator("#p1 #ledger").innerText(), /decode/);
    await report.locator("#p5").scrollIntoViewIfNeeded();
    await report.locator("#rowtop td").first().waitFor();
    await setSlider(report, "temperature", 0.7);
    await setSlider(report, "top_k", 40);
    const step = fixture.steps[report.url().includes("token") ? 30 : 0];
    const [expected] = computedByPython([{ logits: [...fixture.logits(step.step)], uniform: step.uniform, temperature: 0.7, top_k: 40, top_p: 0.9, min_p: 0 }]);
    await compareSampler(report, expected, [0.7, 40, 0.9, 0]);
    await report.locator("#theme").click();
    await report.locator("#lang").click();
    await report.locator("html[lang=zh-CN]").waitFor();
  } finally {
    await report.context().close();
  }
});

onPage("a report without its parts says so in a sentence each", async (page) => {
  const fixture = new XrayFixture();
  const template = readFileSync(new URL("../../web/dist/report.html", import.meta.url), "utf8");
  assert.equal(template.split('"VITRINE_XRAY_DATA"').length, 2, "the place for the data stands once");
  const html = template.replace('"VITRINE_XRAY_DATA"', () => JSON.stringify({ xray: fixture.document }).replaceAll("<", "\\u003c"));
  await page.route("**/report", (route) => route.fulfill({ contentType: "text/html", body: html }));
  await page.goto(stage.server.url + "/report");
  await page.getByText("This file holds no logits").waitFor();
  await page.locator("#p5").scrollIntoViewIfNeeded();
  await page.getByText("This file holds no logit lens").waitFor();
  await page.getByText("This file holds no attention").waitFor();
  assert.equal(await page.locator("#x-temperature").isDisabled(), true);
  assert.match(await page.locator("#cands").innerText(), /top_p/);
});
