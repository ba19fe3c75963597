// A client whose key has limits: what it is told, and how long its own retries wait. Prints JSON.
import { createRequire } from "node:module";

const require = createRequire(process.env.CLIENT + "/");
const { OpenAI } = require(process.env.CLIENT);

const connect = (apiKey, maxRetries) => new OpenAI({ baseURL: process.env.BASE_URL, apiKey, maxRetries });
const request = { model: "smollm2", messages: [{ role: "user", content: "What is the capital of France?" }], max_tokens: 4 };

const once = connect(process.env.ONCE, 0);
await once.chat.completions.create(request);
let refused = null;
try {
  await once.chat.completions.create(request);
} catch (error) {
  refused = { name: error.constructor.name, code: error.code, retryAfter: error.headers.get("retry-after") };
}

const alone = connect(process.env.ALONE, 8);
const stream = await alone.chat.completions.create({ ...request, max_tokens: 4000, ignore_eos: true, stream: true });
await stream[Symbol.asyncIterator]().next();
setTimeout(() => stream.controller.abort(), 1500);
const began = performance.now();
const answer = await alone.chat.completions.create(request);
console.log(JSON.stringify({
  refused,
  waited_s: (performance.now() - began) / 1000,
  completion_tokens: answer.usage.completion_tokens,
}));
