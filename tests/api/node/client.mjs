// Calls the server as users of the official client do and prints what came back as JSON.
import { createRequire } from "node:module";

const require = createRequire(process.env.CLIENT + "/");
const { OpenAI } = require(process.env.CLIENT);

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: "none", maxRetries: 0 });
const request = {
  model: "gpt-4o-mini",
  messages: [{ role: "user", content: "What is the capital of France?" }],
  temperature: 0,
  max_tokens: 24,
};

async function errorOf(promise, ...fields) {
  try {
    await promise;
  } catch (error) {
    return { name: error.constructor.name, ...Object.fromEntries(fields.map((field) => [field, error[field]])) };
  }
  return null;
}

const models = (await client.models.list()).data.map((model) => model.id);
const whole = await client.chat.completions.create(request);
let streamed = "";
let usage = null;
for await (const chunk of await client.chat.completions.create({
  ...request,
  stream: true,
  stream_options: { include_usage: true },
})) {
  streamed += chunk.choices[0]?.delta.content ?? "";
  usage = chunk.usage ?? usage;
}
const progress = [];
const stream = client.chat.completions.stream({ ...request, stream_options: { include_progress: true } });
stream.on("chunk", (chunk) => chunk.progress && progress.push(chunk.progress));
const gathered = (await stream.finalChatCompletion()).choices[0].message.content;
const embeddings = (await client.embeddings.create({ model: request.model, input: ["Paris", "Berlin"] })).data;
const lengths = embeddings.map(({ embedding }) => Math.hypot(...embedding));
const missing = await errorOf(client.chat.completions.create({ ...request, model: "nope" }), "status", "code");
const bad = await errorOf(client.chat.completions.create({ ...request, n: 99 }), "status", "param");
console.log(JSON.stringify({ models, text: whole.choices[0].message.content, streamed, usage, gathered, progress, lengths, missing, bad }));
