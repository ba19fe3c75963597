// A server over the real model and a browser that looks at its pages.
import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
export const chromiumPath = process.env.VITRINE_CHROMIUM ?? "/usr/bin/chromium";
const binary = process.env.VITRINE_BINARY;
const model = process.env.VITRINE_TEST_MODEL;

export function whyNot() {
  if (!binary || !model) return "needs VITRINE_BINARY and VITRINE_TEST_MODEL, a GGUF file";
  try {
    require.resolve("playwright-core");
    execFileSync(chromiumPath, ["--version"], { stdio: "ignore" });
  } catch {
    const reason = "needs Chromium and the packages of web/package-lock.json";
    if (process.env.CI === "true") throw new Error(reason);
    return reason;
  }
  return null;
}

export class Server {
  static async start(...flags) {
    const server = new Server();
    server.state = mkdtempSync(path.join(tmpdir(), "vitrine-state-"));
    server.flags = flags;
    await server.launch(0);
    return server;
  }

  async launch(port) {
    const env = { ...process.env, VITRINE_STATE: this.state };
    this.process = spawn(binary, ["serve", model, "--port", String(port), "--name", "smollm2", ...this.flags], { env, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    this.url = await new Promise((resolve, reject) => {
      this.process.stderr.on("data", (bytes) => {
        said += bytes;
        const found = /Serving \S+ at (http:\/\/\S+)/.exec(said);
        if (found) resolve(found[1]);
      });
      this.process.on("exit", (code) => reject(new Error(`the server ended (${code}): ${said}`)));
    });
  }

  /** `vitrine keys WORDS`: the JSON that it prints. */
  keys(...words) {
    const env = { ...process.env, VITRINE_STATE: this.state };
    return JSON.parse(execFileSync(binary, ["keys", ...words, "--json"], { env, stdio: ["ignore", "pipe", "ignore"] }).toString());
  }

  async kill() {
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.process.removeAllListeners("exit");
    this.process.on("exit", () => {});
    this.process.kill("SIGKILL");
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 300))]);
  }

  async stop() {
    await this.kill();
    rmSync(this.state, { recursive: true, force: true });
  }
}

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps"];

/** A browser with a profile of its own; `faults` has what no page may give: errors, and requests to other places. */
export class Browser {
  faults = [];

  static async open() {
    const { chromium } = require("playwright-core");
    const browser = new Browser();
    browser.chromium = await chromium.launch({ executablePath: chromiumPath, headless: true, args: flags });
    return browser;
  }

  /** A page whose tab has the API key `key`, if there is one. */
  async page(url, options = {}, key = undefined) {
    const context = await this.chromium.newContext({ locale: "en-US", viewport: { width: 1280, height: 800 }, ...options });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    if (key) await context.addInitScript((value) => sessionStorage.setItem("vitrine.key", value), key);
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    page.on("pageerror", (error) => this.faults.push(`${url}: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) this.faults.push(`${url}: ${message.text()}`);
    });
    page.on("request", (request) => {
      const to = new URL(request.url());
      if (to.origin !== new URL(url).origin && !["data:", "blob:"].includes(to.protocol)) this.faults.push(`${url} asked ${request.url()}`);
    });
    await page.goto(url);
    return page;
  }

  close() {
    return this.chromium.close();
  }
}

/** What the tests of one file share: a server and a browser, there before the first test and gone after the last. */
export class Stage {
  skip = whyNot() ?? false;

  /** `prepare` runs once both are there; `flags` are further words for `vitrine serve`. */
  constructor({ timeout = 40_000, prepare = () => {}, flags = [] } = {}) {
    this.timeout = timeout;
    before(async () => {
      if (this.skip) return;
      [this.server, this.browser] = await Promise.all([Server.start(...flags), Browser.open()]);
      prepare(this.server);
    });
    after(async () => {
      await this.browser?.close();
      await this.server?.stop();
    });
  }

  /** A test with a page of its own, of whoever has `key()`. */
  onPage(name, path, run, options = {}, key = undefined) {
    test(name, { skip: this.skip, timeout: this.timeout }, async () => {
      const page = await this.browser.page(this.server.url + path, options, key?.());
      try {
        await run(page);
      } finally {
        await page.context().close();
      }
      assert.deepEqual(this.browser.faults.splice(0), []);
    });
  }
}

/** Server-sent events of an answer, for pages that are to be shown a certain text. */
export function answerEvents(text) {
  const chunk = (choice, more = {}) => `data: ${JSON.stringify({ choices: [choice], ...more })}\n\n`;
  const timings = { load_s: 0, prepare_s: 0.001, queue_s: 0, prefill_s: 0.01, decode_s: 0.02, sample_s: 0.001, other_s: 0, ttft_s: 0.012, itl_p50_s: 0.003, itl_p99_s: 0.004 };
  const usage = { prompt_tokens: 30, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 16 } };
  return chunk({ delta: { content: text }, finish_reason: null }) + chunk({ delta: { content: "" }, finish_reason: "stop" }, { timings }) +
    `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
}

export async function answerWith(page, text) {
  await page.route("**/v1/chat/completions", (route) => route.fulfill({ status: 200, contentType: "text/event-stream", body: answerEvents(text) }));
}
