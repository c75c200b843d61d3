"""Draws frontiers: added time (%) over peak memory, one panel per report, with the proven bound beneath.

    kedge plan MODEL ... --frontier --report report.json
    python3 scripts/measure/frontier_plot.py -o frontier.svg "GPT-2 124M"=report.json
"""
import argparse
import json

from memory_plot import AUTO, BOUND, COLUMNS, HEIGHT, WIDTH, Panel


def panel(index, title, report):
    whole = report["unconstrained_peak_bytes"]
    points = sorted((100 * point["peak_bytes"] / whole, 100 * point["overhead"], 100 * point["lower_bound"])
                    for point in report["frontier"])
    drawn = Panel(index, max(added for _, added, _ in points) * 1.1 or 1)
    drawn.axes(title, f"peak, of {whole / 2**30:.2f} GiB without recomputation")
    drawn.line([(share, bound) for share, _, bound in points], BOUND, 1.2, "5 3")
    drawn.line([(share, added) for share, added, _ in points], AUTO, 1.8)
    for share, added, _ in points:
        drawn.dot(share, added, AUTO, 2.6)
    return drawn.parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, help="the SVG file")
    parser.add_argument("reports", nargs="+", metavar="TITLE=REPORT.json")
    arguments = parser.parse_args()
    parts = []
    for index, named in enumerate(arguments.reports):
        title, _, path = named.partition("=")
        with open(path) as file:
            parts += panel(index, title, json.load(file))
    width = WIDTH * min(COLUMNS, len(arguments.reports))
    height = HEIGHT * -(-len(arguments.reports) // COLUMNS) + 24
    parts.append(f'<text x="{width / 2}" y="{height - 8}" font-size="11" text-anchor="middle">'
                 "dashed: proven, no plan of that peak adds less time</text>")
    with open(arguments.output, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                   f'viewBox="0 0 {width} {height}" font-family="sans-serif">\n'
                   f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    main()
