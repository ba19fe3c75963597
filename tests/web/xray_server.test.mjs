// The X-ray of real requests: what the page computes beside what the server did.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { Stage } from "./stage.mjs";

const stage = new Stage({ timeout: 60_000 });
const onPage = stage.onPage.bind(stage);

const headers = { "content-type": "application/json" };

/** An answer's request id and X-ray. */
async function asked(more = {}) {
  const body = JSON.stringify({ model: "smollm2", messages: [{ role: "user", content: "Explain the KV cache in three sentences." }], max_tokens: 24, temperature: 0.8, top_p: 0.9, min_p: 0.02, seed: 13, ...more });
  const answer = await fetch(stage.server.url + "/v1/chat/completions", { method: "POST", headers, body });
  await answer.text();
  const id = answer.headers.get("x-request-id");
  for (let idx = 0; idx < 20; ++idx) {
    const xray = await fetch(`${stage.server.url}/v1/requests/${id}/xray`);
    if (xray.status === 200) return { id, document: await xray.json() };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${id}: no X-ray`);
}

const opened = (page) => page.locator("#p8 table").first().waitFor();
const figure = (text) => Number(text.replaceAll(/[,%]/g, ""));

onPage("a prompt that is run is shown plate by plate", "/xray", async (page) => {
  await page.locator("#pr").fill("Tell me about rivers.");
  await page.getByText("Parameters").click();
  await page.locator("#run-max_tokens").fill("20");
  await page.locator("#run-seed").fill("7");
  await page.locator("#pr").press("Enter");
  await opened(page);
  assert.match(await page.locator(".who").innerText(), /finished: length[\s\S]*seed 7[\s\S]*every id was the same/);
  assert.equal(await page.locator(".strip").nth(1).locator("button").count(), 20);
  assert.equal(await page.locator("#layers tbody tr").count(), 33);
  await page.locator(".plate4").scrollIntoViewIfNeeded();
  await page.locator("#lens .hit").first().waitFor();
  assert.equal(await page.locator("#lens tbody tr").last().locator(".hit").count(), await page.locator("#lens thead th").count(), "the last layer has the last word");
  await page.locator("#p5").scrollIntoViewIfNeeded();
  await page.locator("#rowtop td").first().waitFor();
  assert.equal(await page.locator("#heads, .heads button").count(), 9);
  const cells = (await page.locator("#ledger tbody tr td:nth-child(4)").allInnerTexts()).map(figure);
  const wall = cells.pop();
  assert.ok(Math.abs(cells.reduce((sum, value) => sum + value, 0) - wall) < 0.1, cells.join(" "));
});

onPage("what the page computes from the logits is what the sampler did, token by token", "/docs", async (page) => {
  const { id, document } = await asked();
  await page.goto(`${stage.server.url}/xray?request=${id}`);
  await opened(page);
  for (const step of document.steps) {
    if (step.step > 0) await page.getByRole("button", { name: "Next token" }).click();
    await page.locator("#x-temperature:enabled").waitFor();
    const survivors = (await page.locator(".chain b").allInnerTexts()).slice(1, 5).map(figure);
    assert.equal(survivors[3], step.chain.at(-1).survivors, `survivors of step ${step.step}`);
    assert.equal(await page.locator("#cands tr.win td:nth-child(2)").innerText(), String(step.id));
    const why = await page.locator("#why").innerText();
    const words = step.interval === null ? "nothing is drawn" : `u = ${step.uniform.toFixed(4)} falls in [${step.interval[0].toFixed(4)}, ${step.interval[1].toFixed(4)})`;
    assert.ok(why.replaceAll(/\s+/g, " ").includes(words), `step ${step.step}: ${why}, not ${words}`);
    const after = figure(await page.locator("#cands tr.win td:nth-child(6)").innerText());
    assert.ok(Math.abs(after / 100 - step.candidates.find((one) => one.id === step.id).after) < 0.0006);
  }
});

onPage("an answer of the chat leads to its X-ray", "/", async (page) => {
  await page.locator("#message").fill("hi");
  await page.locator("#message").press("Enter");
  await page.locator(".turn .xlink").click();
  await page.waitForURL(/\/xray\?request=req-/);
  await opened(page);
});

onPage("two runs with another seed part at a token, and both say why", "/docs", async (page) => {
  const [a, b] = [await asked(), await asked({ seed: 14 })];
  await page.goto(`${stage.server.url}/xray?request=${a.id}&with=${b.id}`);
  await page.locator("#figures").waitFor();
  const place = a.document.steps.findIndex((step, idx) => step.id !== b.document.steps[idx].id);
  assert.match(await page.locator(".diff").innerText(), new RegExp(`step ${place}, position ${a.document.prompt_tokens + place}`));
  assert.equal(await page.locator(".diff td.of-a").filter({ hasText: "←" }).count(), 1);
});

onPage("greedy and penalised requests say so", "/docs", async (page) => {
  const { id } = await asked({ temperature: 0, repetition_penalty: 1.2 });
  await page.goto(`${stage.server.url}/xray?request=${id}`);
  await opened(page);
  await page.locator("#x-temperature:enabled").waitFor();
  assert.match(await page.locator(".chain").innerText(), /repetition_penalty 1\.20/);
  assert.match(await page.locator("#why").innerText(), /nothing is drawn/);
});

onPage("a real request fits into a file that opens from disk", "/docs", async (page) => {
  const { id, document } = await asked({ messages: [{ role: "user", content: "The river bends and the lake is still. ".repeat(18) }], max_tokens: 64 });
  await page.goto(`${stage.server.url}/xray?request=${id}`);
  await opened(page);
  const [saved] = await Promise.all([page.waitForEvent("download", { timeout: 45_000 }), page.getByRole("button", { name: "Save as one file" }).click()]);
  const file = `${await saved.path()}.html`;
  await saved.saveAs(file);
  assert.ok(statSync(file).size < 3e6, `${document.tokens.length} tokens, ${statSync(file).size} bytes`);
  assert.ok(!/https?:\/\//.test(readFileSync(file, "utf8").replaceAll(/http:\/\/www\.w3\.org\/\d+\/svg/g, "")), "it names no other place");
  const report = await stage.browser.page("file://" + file, { offline: true });
  try {
    await opened(report);
    await report.locator("#p5").scrollIntoViewIfNeeded();
    await report.locator("#rowtop td").first().waitFor();
  } finally {
    await report.context().close();
  }
});
