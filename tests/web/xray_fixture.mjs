// An X-ray whose every figure is computed from a seed: a small vocabulary, logits, lens, attention, times that add up.

const words = "the a of and to in is that it for on as with cache token model layer head key value memory prompt answer step time text word data store read write fast slow small large one two three four five six seven eight nine ten it's re , . ! ? : ; ( ) \n".split(" ");

function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

const piece = (id) => (id === 0 ? "<|end|>" : id === 5 ? "\ufffd" : id < words.length + 6 ? (id % 5 === 0 ? "" : " ") + words[(id * 7) % words.length] : ` w${id}`);
const bytesOf = (id) => (id === 5 ? Buffer.from([0xe5]) : Buffer.from(piece(id)));
const tokenOf = (id) => ({ id, piece: piece(id), bytes_hex: bytesOf(id).toString("hex"), special: id === 0 });

export class XrayFixture {
  constructor({ id = "req-fixture", prompt = 39, answer = 60, vocab = 512, layers = 30, heads = 9, kvHeads = 3, seed = 1, sampling = {}, change = () => {} } = {}) {
    Object.assign(this, { id, vocab, layers, heads, kvHeads, seed });
    this.sampling = { temperature: 0.7, top_k: 20, top_p: 0.9, min_p: 0, seed, ...sampling };
    this.numPrompt = prompt;
    this.steps = Array.from({ length: answer }, (_, step) => this.step(step));
    this.ids = [...Array.from({ length: prompt }, (_, idx) => 1 + ((idx * 13) % (vocab - 1))), ...this.steps.map((step) => step.id)];
    this.times();
    this.document = this.make();
    change(this.document);
  }

  logits(step) {
    const next = random(1000 * this.seed + step);
    return Float32Array.from({ length: this.vocab }, () => 14 + 3.2 * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()));
  }

  /** As the engine does it, written down once more in the plainest way. */
  step(step) {
    const row = this.logits(step);
    const { temperature, top_k, top_p, min_p } = this.sampling;
    const order = [...row.keys()].sort((a, b) => row[b] - row[a] || a - b);
    const peak = row[order[0]];
    const sum = row.reduce((total, logit) => total + Math.exp(logit - peak), 0);
    const uniform = temperature === 0 ? null : random(77 * this.seed + step)();
    const weight = (id) => Math.exp((row[id] - peak) / (temperature || 1));
    const afterK = temperature === 0 ? order.slice(0, 1) : order.slice(0, top_k || undefined);
    let mass = 0;
    const whole = afterK.reduce((total, id) => total + weight(id), 0);
    const afterP = afterK.filter((id) => {
      const isKept = mass < top_p * whole;
      mass += weight(id);
      return isKept || top_p === 1;
    });
    const kept = afterP.filter((id) => weight(id) >= min_p * weight(order[0]));
    const total = kept.reduce((all, id) => all + weight(id), 0);
    let low = 0;
    let winner = kept[0];
    for (const id of [...kept].sort((a, b) => a - b)) {
      winner = id;
      if (uniform === null || low + weight(id) / total > uniform) break;
      low += weight(id) / total;
    }
    const logSum = peak + Math.log(sum);
    const probability = (id) => Math.exp(row[id] - logSum);
    const cutBy = (id) => (temperature === 0 ? "temperature" : !afterK.includes(id) ? "top_k" : !afterP.includes(id) ? "top_p" : !kept.includes(id) ? "min_p" : null);
    const shown = order.slice(0, 24);
    if (!shown.includes(winner)) shown.push(winner);
    const after = (id) => (kept.includes(id) ? weight(id) / total : 0);
    const candidates = shown.map((id) => ({ id, piece: piece(id), logit: row[id], probability: probability(id), after: after(id), cut_by: cutBy(id) }));
    const chain = [["temperature", temperature, temperature === 0 ? 1 : this.vocab], ["top_k", top_k, afterK.length], ["top_p", top_p, afterP.length], ["min_p", min_p, kept.length]];
    return {
      step, position: this.numPrompt + step, id: winner, probability: probability(winner), logprob: Math.log(probability(winner)), rank: order.indexOf(winner), log_sum_exp: logSum, max_logit: peak, uniform,
      interval: uniform === null ? null : [low, low + after(winner)], chain: chain.map(([name, value, survivors]) => ({ name, value, survivors })),
      entropy_bits: -kept.reduce((bits, id) => bits + after(id) * Math.log2(after(id)), 0), candidates, duration_s: 0,
    };
  }

  /** Spans in microseconds; events are written while the next token is computed. */
  times() {
    const next = random(this.seed + 5);
    const spans = [];
    let at = 0;
    const add = (name, stage, length, attributes = {}) => spans.push({ name, stage, start_s: at / 1e6, end_s: (at += length) / 1e6, parent: null, attributes });
    add("parse", "other", 60);
    add("queue", "queue", 100);
    add("template", "template", 200);
    add("tokenize", "tokenize", 100 + this.numPrompt);
    add("lookup", "lookup", 50);
    add("prefill", "prefill", 300 * this.numPrompt, { rows: this.numPrompt });
    this.steps.forEach((step, idx) => {
      const begin = at;
      if (idx > 0) add("decode", "decode", 2800 + Math.round(300 * next()));
      add("sample", "sample", 118);
      const sent = { parent: null, attributes: {} };
      spans.push({ name: "detokenize", stage: "detokenize", start_s: at / 1e6, end_s: (at + 9) / 1e6, ...sent }, { name: "socket", stage: "socket", start_s: (at + 9) / 1e6, end_s: (at + 40) / 1e6, ...sent });
      at += 5; // in no span
      step.duration_s = (at - begin) / 1e6;
    });
    this.wall = (at + 60) / 1e6;
    const stages = {};
    for (const span of spans) stages[span.stage] = (stages[span.stage] ?? 0) + span.end_s - span.start_s;
    this.timeline = { spans, stages, unaccounted_s: 5e-6 * this.steps.length, wall_s: this.wall };
  }

  costs(rows, scale) {
    const next = random(this.seed + rows);
    const shares = { norms: 0.11, qkv: 0.12, attention: 0.11, out: 0.1, gate_up: 0.36, down: 0.2 };
    const layers = Array.from({ length: this.layers }, (_, layer) => {
      const time = (68e-6 + 8e-6 * next()) * scale;
      const ops = Object.entries(shares).map(([name, share]) => ({ name, time_s: share * time, bytes: Math.round(2_220_000 * share), flops: Math.round(7_077_888 * rows * share) }));
      return { layer, time_s: time, bytes: 2_220_000, flops: 7_077_888 * rows, hidden_norm: 30 * 1.11 ** layer, ops };
    });
    return { rows, layers, head: { time_s: 812e-6, bytes: 30_080_000, flops: 56_623_104 }, embedding: { time_s: 1.2e-6 } };
  }

  make() {
    const { numPrompt, steps, ids } = this;
    const held = ids.length - 1;
    const blocks = Array.from({ length: Math.ceil(held / 16) }, (_, idx) => ({ block: 17 + idx + (idx > 2 ? 3 : 0), filled: Math.min(16, held - 16 * idx), prompt_tokens: Math.max(0, Math.min(16, numPrompt - 16 * idx)) }));
    const ttft = this.timeline.spans.find(({ name }) => name === "sample").end_s;
    return {
      id: this.id, model: "smollm2", finish_reason: "stop",
      usage: { prompt_tokens: numPrompt, completion_tokens: steps.length, total_tokens: ids.length, prompt_tokens_details: { cached_tokens: 0 } },
      shape: { architecture: "llama", num_layers: this.layers, hidden_size: 576, num_heads: this.heads, num_kv_heads: this.kvHeads, head_dim: 64, intermediate_size: 1536, vocab_size: this.vocab, context_length: 8192, sliding_window: 0, weights_bytes: 96_600_000 },
      sampling: this.sampling, timeline: this.timeline,
      latency: { ttft_s: ttft, itl_p50_s: 0.00308, itl_p99_s: 0.00368, tpot_s: 0.00309, prefill_tokens_per_s: 3250, decode_tokens_per_s: 323 },
      prompt_tokens: numPrompt, tokens: ids.map(tokenOf),
      shapes: [["input_ids", 1, numPrompt], ["embedding", 1, numPrompt, 576], ["last_hidden_state", 1, numPrompt, 576], ["logits", 1, this.vocab]].map(([name, ...shape]) => ({ name, shape })),
      steps, replay: { wall_s: 0.4, equal: true, first_difference: null, memory_bytes: 20_000_000, prefill_s: 0.1, decode_s: 0.3 },
      layers: { prefill: this.costs(numPrompt, 4), decode: steps.length > 1 ? this.costs(1, 1) : null },
      roof: { gb_per_s: 47, tflops: 2.1 }, kernels: ["q4_1 latency vnni 16x1", "attention f16 1x64", "head q8_0 vnni 16x1"],
      kv: { bytes_per_token: 23040, block_tokens: 16, block_bytes: 368640, type: "f16", tokens_held: held, bytes_held: held * 23040, bytes_allocated: blocks.length * 368640, cached_tokens: 0, prefix: { reason: "token_differs", position: 3, cached_text: "Answer", requested_text: "You", cached_tokens: 0 }, blocks },
      memory: { weights_bytes: 96_600_000, kv_bytes: 47_200_000, activations_bytes: 3_100_000, scratch_bytes: 19_000_000, prefix_cache_bytes: 2_600_000, other_bytes: 19_000_000, rss_bytes: 185_500_000 },
      cost: { currency: "USD", input_per_million: 0.05, cached_input_per_million: 0.01, output_per_million: 0.2, prompt: (0.05 * numPrompt) / 1e6, cached: 0, answer: (0.2 * steps.length) / 1e6, total: (0.05 * numPrompt + 0.2 * steps.length) / 1e6, per_100000_calls: (0.05 * numPrompt + 0.2 * steps.length) / 10, prices_dated: "2025-11-01" },
    };
  }

  lens(first, count) {
    const last = this.ids.length - 1;
    const layers = Array.from({ length: this.layers + 1 }, (_, layer) =>
      Array.from({ length: Math.min(count, last - first) }, (_, idx) => {
        const next = random(31 * layer + 977 * (first + idx));
        const isFinal = layer === this.layers || (layer > this.layers / 2 && next() > 0.5);
        const id = isFinal ? this.ids[first + idx + 1] : Math.floor(next() * this.vocab);
        return { id, piece: piece(id), probability: isFinal ? 0.3 + 0.6 * next() : next() * 0.5, is_final: isFinal };
      }));
    return { first, count: layers[0].length, layers };
  }

  attention(layer) {
    const size = this.ids.length - 1;
    const all = new Float32Array((this.heads * size * (size + 1)) / 2);
    let at = 0;
    for (let head = 0; head < this.heads; ++head) {
      for (let query = 0; query < size; ++query) {
        const row = Array.from({ length: query + 1 }, (_, key) => Math.exp(-Math.abs(query - key) / (1 + head) + (key === 0 ? 1.5 : 0) + Math.sin(layer + key)));
        const sum = row.reduce((total, weight) => total + weight, 0);
        for (const weight of row) all[at++] = weight / sum;
      }
    }
    return all;
  }

  /** Answers what the page asks of this request. `gone`: its ids are no longer kept. */
  async route(page, { gone = false } = {}) {
    const notFound = { status: 404, json: { error: { message: "request: its ids are no longer kept", code: "request_not_found" } } };
    const binary = (row) => ({ status: 200, contentType: "application/octet-stream", body: Buffer.from(row.buffer) });
    await page.route(new RegExp(`/v1/requests/${this.id}/`), (route) => {
      const url = new URL(route.request().url());
      const part = url.pathname.split(`${this.id}/`)[1];
      const number = (name) => Number(url.searchParams.get(name));
      if (part === "trace") return route.fulfill({ json: { id: this.id, ...this.timeline } });
      if (gone) return route.fulfill(notFound);
      if (part === "xray") return route.fulfill({ json: this.document });
      if (part === "xray/logits") return route.fulfill(binary(this.logits(number("step"))));
      if (part === "xray/lens") return route.fulfill({ json: this.lens(number("first"), number("count")) });
      return route.fulfill(binary(this.attention(number("layer"))));
    });
  }
}
