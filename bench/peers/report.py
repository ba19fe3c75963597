"""The comparison as JSON, a table and a plot."""
import html
import json

BARS_LEFT, BAR_PITCH = 380, 26


def write(report, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (folder / "peers.md").write_text(table(report), encoding="utf-8")
    (folder / "peers.svg").write_text(plot(report), encoding="utf-8")


def flags_text(flags):
    words = [f"{flags['threads']} threads" if flags["threads"] > 1 else "1 thread"]
    words += [f"{name.replace('flash', 'flash attention')} {value}" for name, value in flags.items() if name != "threads"]
    return ", ".join(words)


def figure_text(value, unit):
    digits = {"s": 3, "nats": 5, "%": 2, "": 3}.get(unit, 1)
    return f"{value:.{digits}f}"


def error_text(row, side):
    return f" ± {figure_text(row['standard_errors'][side], row['unit'])}" if "standard_errors" in row else ""


def table(report):
    lines = ["| model | what | peer | Vitrine | peer's | ratio | pairs | peer's flags |", "|---|---|---|---:|---:|---:|---:|---|"]
    return "\n".join(lines + [table_row(row) for row in report["rows"]]) + "\n"


def table_row(row):
    if "refused" in row:
        reason = row["refused"].strip().splitlines()[-1].replace("|", "\\|")
        return f"| {row['model']} | {row['what']} | {row['peer_name']} | - | refused | - | - | {reason} |"
    what = f"{row['what']} ({row['unit']})" if row["unit"] else row["what"]
    runs, flags = row["runs"], flags_text(row["flags"]["peer"]) if row["flags"] else ""
    pairs = f"{sum(run['counted'] for run in runs)} of {len(runs)}" if runs else "-"
    if row["ratio"] is None:
        return f"| {row['model']} | {what} | {row['peer_name']} | - | - | - | {pairs} | {flags} |"
    ours, peer = (figure_text(row[side], row["unit"]) + error_text(row, side) for side in ("ours", "peer"))
    return f"| {row['model']} | {what} | {row['peer_name']} | {ours} | {peer} | {row['ratio']:.2f} | {pairs} | {flags} |"


def plot(report):
    """Bars of the ratios; the line is where both are equal."""
    rows = [row for row in report["rows"] if row.get("ratio")]
    scale = 420 / max([2.0] + [row["ratio"] for row in rows])
    bars = "".join(bar(row, 40 + BAR_PITCH * index, scale) for index, row in enumerate(rows))
    height, equal = 60 + BAR_PITCH * len(rows), BARS_LEFT + scale
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="880" height="{height}" font-family="sans-serif" font-size="12">'
            f'<rect width="880" height="{height}" fill="white"/>'
            f'<text x="{BARS_LEFT}" y="22" font-weight="bold">How many times as good, on {html.escape(report["machine"]["cpu"])}'
            f'</text>{bars}'
            f'<line x1="{equal:.1f}" y1="32" x2="{equal:.1f}" y2="{height - 12}" stroke="#555" stroke-dasharray="4"/>'
            '</svg>\n')


def bar(row, y, scale):
    width = row["ratio"] * scale
    label = html.escape(f"{row['model']}, {row['what']}: {row['peer_name']}")
    return (f'<text x="{BARS_LEFT - 10}" y="{y + 14}" text-anchor="end">{label}</text>'
            f'<rect x="{BARS_LEFT}" y="{y}" width="{width:.1f}" height="18" fill="#2f6f5e"/>'
            f'<text x="{BARS_LEFT + 6 + width:.1f}" y="{y + 14}">{row["ratio"]:.2f}x</text>')
