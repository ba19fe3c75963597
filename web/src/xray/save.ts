import { text } from "../api";
import { h } from "../dom";
import type { XrayDocument } from "./document";
import type { InlinedLogits, InlinedXray } from "./inlined";
import type { Logits } from "./logits";
import { triangle, type AttentionWeights, type XraySource } from "./source";

/** Stands in the template of the report where its data goes. */
export const placeholder = '"VITRINE_XRAY_DATA"';

const topLogits = 256;
const mostLens = 160; // positions
const mostBytes = 2.6e6; // of the data, so that a file with the page's code stays below 3 MB

/** One file that shows this X-ray without a server. */
export async function saveReport(source: XraySource, layers: number[], told: (share: number) => void): Promise<void> {
  const [template, data] = await Promise.all([text("/report.html"), gather(source, layers, told)]);
  const url = URL.createObjectURL(new Blob([filled(template, data)], { type: "text/html" }));
  h("a", { href: url, download: `${source.document.id}.html` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** No "<" in it: nothing in the data can end the element that holds it. */
export function filled(template: string, data: InlinedXray): string {
  const json = JSON.stringify(data).replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  const [before, after] = template.split(placeholder);
  if (before === undefined || after === undefined) throw new Error(`report.html has no ${placeholder}`);
  return before + json + after;
}

/** As much as there is room for, in the order in which it is missed most; `layers` are those whose attention is wanted. */
export async function gather(source: XraySource, layers: number[], told: (share: number) => void): Promise<InlinedXray> {
  const { document } = source;
  const data: InlinedXray = { xray: document };
  let size = JSON.stringify(document).length;
  const add = (part: Partial<InlinedXray>): boolean => {
    const more = JSON.stringify(part).length;
    if (size + more > mostBytes) return false;
    size += more;
    Object.assign(data, part);
    return true;
  };
  add({ logits: { top: await topOfAll(source, document, (share) => told(share / 2)) } });
  await addLens(source, document, add);
  told(0.9);
  const attention: Record<string, string> = {};
  for (const layer of layers) {
    if (size + 1.4 * document.shape.num_heads * triangle(document.tokens.length - 1) > mostBytes) break;
    attention[layer] = coded(await source.attention(layer));
    add({ attention: { ...attention } });
  }
  return data;
}

async function topOfAll(source: XraySource, { steps }: XrayDocument, told: (share: number) => void): Promise<InlinedLogits[]> {
  const all: InlinedLogits[] = [];
  for (const { step } of steps) {
    all.push(topOf(await source.logits(step)));
    told(all.length / steps.length);
  }
  return all;
}

function topOf({ ids, values, logSum }: Logits): InlinedLogits {
  return { ids: [...ids.subarray(0, topLogits)], logits: Array.from(values.subarray(0, topLogits), (value) => Number(value.toPrecision(9))), log_sum_exp: logSum };
}

/** All positions, or where they are many those of the answer: each costs the server a head for every layer. */
async function addLens(source: XraySource, { tokens, prompt_tokens }: XrayDocument, add: (part: Partial<InlinedXray>) => boolean): Promise<void> {
  const answer = Math.max(0, prompt_tokens - 1);
  for (const first of tokens.length > mostLens ? [answer] : [0, answer]) {
    const columns = await source.lens(first, tokens.length - 1 - first);
    const rows = columns[0]?.map((_, layer) => columns.map((column) => ({ ...column[layer]!, probability: Number(column[layer]!.probability.toPrecision(4)) }))) ?? [];
    if (add({ lens: { first, count: columns.length, layers: rows } })) return;
  }
}

/** A byte a weight: 255 times its square root. */
function coded({ numHeads, numPositions, at }: AttentionWeights): string {
  let bytes = "";
  for (let head = 0; head < numHeads; ++head) {
    for (let query = 0; query < numPositions; ++query)
      for (let key = 0; key <= query; ++key) bytes += String.fromCharCode(Math.round(255 * Math.sqrt(at(head, query, key))));
  }
  return btoa(bytes);
}
