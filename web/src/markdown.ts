import { h } from "./dom";

// A little Markdown: paragraphs, headings, lists, quotes, fenced code, rules, and in a line code, bold, italics and links to
// https. What a model wrote becomes elements whose text it is; markup in it stays text.

type Block =
  | { kind: "text" | "quote"; lines: string[] }
  | { kind: "heading"; level: number; text: string }
  | { kind: "list"; ordered: boolean; start: number; items: string[][] }
  | { kind: "code"; language: string; lines: string[] }
  | { kind: "rule" };

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)]) +(.*)$/;
const heading = /^ {0,3}(#{1,6}) +(.*?)(?: +#+)?$/;
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/;

export function parseBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split("\n");
  let open: Block | null = null;
  for (let at = 0; at < lines.length; ++at) {
    const line = lines[at]!;
    const opening = fence.exec(line);
    if (opening) {
      const end = closingFence(lines, at + 1, opening[1]!);
      blocks.push({ kind: "code", language: opening[2]!, lines: lines.slice(at + 1, end) });
      at = end;
      open = null;
      continue;
    }
    open = takeLine(line, open, blocks);
  }
  return blocks;
}

/** The index of the line that ends the block, or one behind the last: an answer on its way has not ended it yet. */
function closingFence(lines: string[], from: number, mark: string): number {
  const end = lines.findIndex((line, idx) => idx >= from && line.trim().startsWith(mark) && line.trim().replaceAll(mark[0]!, "") === "");
  return end < 0 ? lines.length : end;
}

function takeLine(line: string, open: Block | null, blocks: Block[]): Block | null {
  const begin = (block: Block): Block => {
    blocks.push(block);
    return block;
  };
  if (line.trim() === "") return open?.kind === "list" ? open : null;
  const title = heading.exec(line);
  if (title) {
    begin({ kind: "heading", level: title[1]!.length, text: title[2]! });
    return null;
  }
  if (rule.test(line)) {
    begin({ kind: "rule" });
    return null;
  }
  const item = bullet.exec(line);
  if (item) {
    const ordered = /\d/.test(item[2]!);
    const list =
      open?.kind === "list" && open.ordered === ordered ? open : begin({ kind: "list", ordered, start: parseInt(item[2]!) || 1, items: [] });
    if (list.kind === "list") list.items.push([item[3]!]);
    return list;
  }
  if (line.startsWith(">")) {
    const quote = open?.kind === "quote" ? open : begin({ kind: "quote", lines: [] });
    if (quote.kind === "quote") quote.lines.push(line.replace(/^> ?/, ""));
    return quote;
  }
  if (open?.kind === "list" && /^\s+/.test(line)) {
    open.items.at(-1)!.push(line.trim());
    return open;
  }
  const text = open?.kind === "text" ? open : begin({ kind: "text", lines: [] });
  if (text.kind === "text") text.lines.push(line);
  return text;
}

const inline =
  /(`+)(.+?)\1(?!`)|\*\*(?=\S)(.+?\S|\S)\*\*|(?<![\w*])\*(?=\S)([^*]*[^*\s])\*(?!\*)|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/s;

export function renderInline(text: string): (Node | string)[] {
  const nodes: (Node | string)[] = [];
  let rest = text;
  for (let found = inline.exec(rest); found; found = inline.exec(rest)) {
    if (found.index > 0) nodes.push(rest.slice(0, found.index));
    nodes.push(inlineNode(found));
    rest = rest.slice(found.index + found[0].length);
  }
  if (rest !== "") nodes.push(rest);
  return nodes;
}

function inlineNode(found: RegExpExecArray): Node {
  const [, , code, bold, italic, label, url] = found;
  if (code !== undefined) return h("code", {}, code.replace(/^ (.*) $/s, "$1"));
  if (bold !== undefined) return h("strong", {}, ...renderInline(bold));
  if (italic !== undefined) return h("em", {}, ...renderInline(italic));
  return h("a", { href: url, rel: "noopener noreferrer nofollow", target: "_blank", title: url }, label);
}

export function renderMarkdown(text: string): Node[] {
  return parseBlocks(text).map(renderBlock);
}

function renderBlock(block: Block): Node {
  switch (block.kind) {
    case "code":
      return h("pre", { "data-language": block.language || null, tabindex: 0 }, h("code", {}, block.lines.join("\n")));
    case "heading":
      return h("p", { class: "md-head", role: "heading", "aria-level": Math.min(6, block.level + 3) }, ...renderInline(block.text));
    case "list":
      return h(block.ordered ? "ol" : "ul", { start: block.ordered && block.start !== 1 ? block.start : null },
        ...block.items.map((lines) => h("li", {}, ...renderInline(lines.join("\n")))));
    case "quote":
      return h("blockquote", {}, ...renderInline(block.lines.join("\n")));
    case "rule":
      return h("hr");
    case "text":
      return h("p", {}, ...renderInline(block.lines.join("\n")));
  }
}
