import type { Span, Timeline, XrayDocument } from "./document";

// Where each moment of a request went. Spans may overlap (an event is written while the next token is computed); a
// moment then belongs to the model's own work first, so that the pieces add up to the wall time.

export interface Piece {
  name: string;
  stage: string;
  span: Span | null; // null: nothing was measured there
  start: number;
  end: number;
}

export interface StageRow {
  name: string;
  stage: string;
  spans: number;
  start: number;
  seconds: number; // of the wall time
  covered: number; // more, while something before it in rank went on
}

const first = ["prefill", "decode", "mask", "sample"];
const named = new Set(["queue", "template", "tokenize", "lookup", "prefill", "decode", "mask", "sample", "detokenize", "socket"]);
const colours: Record<string, string> = {
  wait_for_worker: "queue",
  wait_for_model: "queue",
  load: "queue",
  schedule: "queue",
  write: "socket",
  delivery: "socket",
  return_from_worker: "socket",
};

/** The stage whose colour a span has; "other" for work around the stages. */
export function colourOf({ name, stage }: { name: string; stage: string }): string {
  return named.has(name) ? name : (colours[name] ?? (named.has(stage) ? stage : (colours[stage] ?? "other")));
}

const rank = (span: Span): number => {
  const place = first.indexOf(span.stage);
  return place < 0 ? first.length : place;
};

const endOf = (span: Span, { wall_s }: Timeline): number => Math.min(span.end_s ?? wall_s, wall_s);

/** All pieces, in order and without gaps, from 0 to the wall time. */
export function pieces(timeline: Timeline): Piece[] {
  const spans = timeline.spans.filter((span) => span.parent === null && endOf(span, timeline) > span.start_s);
  spans.sort((a, b) => a.start_s - b.start_s);
  const moments = [...new Set([0, timeline.wall_s, ...spans.flatMap((span) => [span.start_s, endOf(span, timeline)])])];
  moments.sort((a, b) => a - b);
  const all: Piece[] = [];
  let open: Span[] = [];
  let next = 0;
  for (let idx = 0; idx + 1 < moments.length; ++idx) {
    const [start, end] = [moments[idx]!, moments[idx + 1]!];
    open = open.filter((span) => endOf(span, timeline) > start);
    while (next < spans.length && spans[next]!.start_s <= start) open.push(spans[next++]!);
    append(all, open.reduce<Span | null>((best, span) => (best === null || rank(span) < rank(best) ? span : best), null), start, end);
  }
  return all;
}

function append(all: Piece[], span: Span | null, start: number, end: number): void {
  const last = all.at(-1);
  if (last && last.span === span) last.end = end;
  else all.push({ name: span?.name ?? "unaccounted", stage: span?.stage ?? "unaccounted", span, start, end });
}

/** The pieces by name, in the order of a request. What nothing measured is not among them. */
export function stageRows(timeline: Timeline): StageRow[] {
  const rows = new Map<string, StageRow>();
  const total = new Map<string, number>();
  for (const span of timeline.spans) {
    if (span.parent !== null) continue;
    const row = rows.get(span.name) ?? { name: span.name, stage: span.stage, spans: 0, start: span.start_s, seconds: 0, covered: 0 };
    row.spans += 1;
    row.start = Math.min(row.start, span.start_s);
    rows.set(span.name, row);
    total.set(span.name, (total.get(span.name) ?? 0) + endOf(span, timeline) - span.start_s);
  }
  for (const piece of pieces(timeline)) {
    const row = piece.span ? rows.get(piece.name) : undefined;
    if (row) row.seconds += piece.end - piece.start;
  }
  for (const row of rows.values()) row.covered = Math.max(0, total.get(row.name)! - row.seconds);
  const began = Math.min(...[...rows.values()].filter(({ stage }) => first.includes(stage)).map(({ start }) => start));
  return [...rows.values()].sort((a, b) => order(a, began) - order(b, began) || a.start - b.start);
}

/** What comes before the model's own work, that work, what comes after it. */
function order({ stage, start }: StageRow, began: number): number {
  const place = first.indexOf(stage);
  return place >= 0 ? place + 1 : start > began ? first.length + 1 : 0;
}

/** When each step began and ended: step 0 from the request to its first token. */
export function stepTimes(doc: XrayDocument): { start: number; end: number }[] {
  const { timeline, steps } = doc;
  const decodes = timeline.spans.filter((span) => span.stage === "decode" && span.parent === null).sort((a, b) => a.start_s - b.start_s);
  if (decodes.length !== steps.length - 1) return timesFromDurations(doc);
  const starts = [0, ...decodes.map((span) => span.start_s)];
  return starts.map((start, idx) => ({ start, end: starts[idx + 1] ?? lastToken(timeline) }));
}

function timesFromDurations({ steps, latency, timeline }: XrayDocument): { start: number; end: number }[] {
  let at = latency.ttft_s ?? timeline.wall_s;
  return steps.map((step, idx) => {
    if (idx === 0) return { start: 0, end: at };
    const start = at;
    at = Math.min(timeline.wall_s, at + (step.duration_s ?? 0));
    return { start, end: at };
  });
}

/** The end of the model's work on the last token. */
function lastToken(timeline: Timeline): number {
  const ends = timeline.spans.filter((span) => first.includes(span.stage)).map((span) => endOf(span, timeline));
  return ends.length === 0 ? timeline.wall_s : Math.max(...ends);
}

export function within(all: Piece[], start: number, end: number): Piece[] {
  return all.filter((piece) => piece.end > start && piece.start < end).map((piece) => ({ ...piece, start: Math.max(piece.start, start), end: Math.min(piece.end, end) }));
}
