import { h, type Child } from "../dom";
import type { Token } from "./document";

const mark = (text: string): HTMLElement => h("span", { class: "g" }, text);

/** A piece as people read it: a leading space as a raised dot, a newline as an arrow. */
export function pieceText(piece: string): Child[] {
  const parts: Child[] = [];
  let rest = piece;
  if (rest.startsWith(" ")) {
    parts.push(mark("·"));
    rest = rest.slice(1);
  }
  for (const part of rest.split(/([\n\r\t])/)) {
    if (part === "\n") parts.push(mark("↵"));
    else if (part === "\r") parts.push(mark("␍"));
    else if (part === "\t") parts.push(mark("⇥"));
    else if (part !== "") parts.push(part);
  }
  return parts.length > 0 ? parts : [mark("∅")];
}

export function bytesOf({ bytes_hex }: Token): Uint8Array {
  return Uint8Array.from(bytes_hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** Of a token: bytes that are no character stand as <e5>. */
export function tokenText(token: Token): Child[] {
  if (token.special || !token.piece.includes("�")) return pieceText(token.piece);
  return characters(bytesOf(token)).map((part) => (typeof part === "number" ? mark(`<${part.toString(16).padStart(2, "0")}>`) : pieceText(part))).flat();
}

/** Whole characters as text, other bytes as numbers. */
export function characters(bytes: Uint8Array): (string | number)[] {
  const parts: (string | number)[] = [];
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  for (let begin = 0; begin < bytes.length; ) {
    const size = [1, 2, 3, 4].find((count) => {
      try {
        return begin + count <= bytes.length && decoder.decode(bytes.subarray(begin, begin + count)) !== "";
      } catch {
        return false;
      }
    });
    if (size === undefined) {
      parts.push(bytes[begin]!);
      begin += 1;
    } else {
      parts.push(decoder.decode(bytes.subarray(begin, begin + size)));
      begin += size;
    }
  }
  return parts;
}

/** In a title or a label, where there are no elements. */
export function pieceLabel(piece: string): string {
  return pieceText(piece).map((part) => (part instanceof Node ? part.textContent : String(part))).join("");
}
