import type { UsageRow } from "./admin";

export function csv(rows: UsageRow[]): string {
  const names = Object.keys(rows[0] ?? {});
  // A cell that a spreadsheet would take for a formula begins with a quote.
  const cell = (value: unknown): string => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [names.join(","), ...rows.map((row) => names.map((name) => cell(row[name as keyof UsageRow])).join(","))].join("\n") + "\n";
}
