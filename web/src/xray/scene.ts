import type { XrayDocument } from "./document";
import type { XraySource } from "./source";
import { asWritten } from "./figures";
import { samplerNames, type SamplerName, type SamplerValues } from "./sampler";

/** What all plates of an X-ray share: its data, the one cursor, the sampler's values. */
export class Scene extends EventTarget {
  position: number;
  values: SamplerValues;
  readonly doc: XrayDocument;

  constructor(readonly source: XraySource, position: number | null, values: Partial<SamplerValues>) {
    super();
    this.doc = source.document;
    this.position = this.clamp(position ?? this.doc.prompt_tokens);
    this.values = { ...this.ownValues(), ...values };
  }

  /** The position of the token under the cursor, 0 is the first of the prompt. */
  moveTo(position: number): void {
    const next = this.clamp(position);
    if (next === this.position) return;
    this.position = next;
    this.dispatchEvent(new Event("move"));
  }

  setValues(values: SamplerValues): void {
    this.values = values;
    this.dispatchEvent(new Event("values"));
  }

  ownValues(): SamplerValues {
    const { sampling } = this.doc;
    const number = (name: SamplerName, off: number): number => (typeof sampling[name] === "number" ? asWritten(sampling[name]) : off);
    return { temperature: number("temperature", 1), top_k: number("top_k", 0), top_p: number("top_p", 1), min_p: number("min_p", 0) };
  }

  changedValues(): SamplerName[] {
    const own = this.ownValues();
    return samplerNames.filter((name) => this.values[name] !== own[name]);
  }

  isGenerated(position = this.position): boolean {
    return position >= this.doc.prompt_tokens;
  }

  private clamp(position: number): number {
    return Math.max(0, Math.min(this.doc.tokens.length - 1, Math.trunc(position)));
  }
}

export interface Plate {
  readonly element: HTMLElement;
  /** The figure beside its name in the contents. */
  figure(): string;
}

/** Calls once, when the element is on the screen or near it. */
export function whenSeen(element: HTMLElement, seen: () => void): void {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    seen();
  }, { rootMargin: "600px" });
  observer.observe(element);
}

/** Arrows move within a group that is one tab stop. */
export function arrows(element: HTMLElement, steps: { x?: number; y?: number }, move: (step: number) => void, ends?: (last: boolean) => void): void {
  const { x = 1, y = 0 } = steps;
  const by: Record<string, number> = { ArrowRight: x, ArrowLeft: -x, ArrowDown: y, ArrowUp: -y };
  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const step = by[event.key] ?? 0;
    if (step !== 0) move(step);
    else if (ends && (event.key === "Home" || event.key === "End")) ends(event.key === "End");
    else return;
    event.preventDefault();
  });
}
