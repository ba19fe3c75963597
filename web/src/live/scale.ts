/** A round number that holds `max`, and whose half is round as well. */
export function niceTop(max: number | null): number {
  if (max === null || !(max > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(max));
  return [1, 2, 4, 5, 6, 8, 10].map((step) => step * power).find((top) => top >= max) ?? 10 * power;
}

const mostRows = 24;

/** Cells as large as a screen holds: 4 to 18 pixels. */
export function layout(numCells: number, width: number): { cell: number; columns: number } {
  for (let cell = 18; cell > 4; --cell) {
    const columns = Math.floor(width / cell);
    if (Math.ceil(numCells / columns) <= mostRows) return { cell, columns };
  }
  return { cell: 4, columns: Math.max(1, Math.floor(width / 4)) };
}
