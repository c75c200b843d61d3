#!/usr/bin/env python3
"""check_plan_page.py DOM.html PLAN.json ARENA.csv: what the page's script drew is what the plan and the arena say."""
import csv
import decimal
import html
import json
import re
import sys


def amount(size):
    """A tie is rounded up, as the page's toFixed does."""
    unit = 0
    while size >= 1024 and unit < 4:
        size, unit = size / 1024, unit + 1
    return f"{size} B" if unit == 0 else f"{decimal.Decimal(size).quantize(decimal.Decimal('0.01'), decimal.ROUND_HALF_UP)} {['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}"


def main():
    page = html.unescape(open(sys.argv[1], encoding="utf-8").read())
    plan = json.load(open(sys.argv[2], encoding="utf-8"))
    rows = list(csv.DictReader(open(sys.argv[3], encoding="utf-8", newline="")))
    transient = sum(not row["id"].startswith("persistent.") for row in rows)
    expected = {
        "drawn to the end": 'data-rendered="yes"',
        "peak": f'<b>{amount(plan["peak_bytes"])}</b><span>peak</span>',
        "state": f'<b>{amount(plan["functions"][0]["persistent_bytes"])}</b><span>state, all the time</span>',
        "transient buffers": f" and {transient} transient buffers in {len(plan['functions'])} functions",
        "bytes of the arena": f'one arena of {plan["arena_bytes"]} bytes',
        "areas of the timeline": 'data-share="activations"',
        "a timeline that ends at its axes": '<g clip-path="url(#inside)">',
        "round numbers of launches": '>20</text>',
        "what makes a value": "<th>made by</th>",
        "the layers at the peak": "<td>blocks.0</td>",
        "the frontier's points": f'{amount(plan["frontier"][-1]["peak_bytes"])}: {100 * plan["frontier"][-1]["overhead"]:.3f} % more time',
    }
    missing = [name for name, text in expected.items() if text not in page]
    in_view = re.search(r"(\d+) buffers of step in view", page)
    if not in_view or not 0 < int(in_view.group(1)) <= len(rows):
        missing.append("buffers of the arena map")
    if missing:
        sys.exit("the page does not show: " + ", ".join(missing))
    print("the page shows the plan")


if __name__ == "__main__":
    main()
