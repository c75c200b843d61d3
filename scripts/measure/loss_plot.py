#!/usr/bin/env python3
"""Draws losses of runs over their steps as one SVG, each step's the mean of the 100 steps around it; dots are evaluations.

loss_plot.py -o losses.svg "fp32"=fp32.jsonl "split, int8"=split.jsonl      the files are of a program's --log
"""
import argparse
import json

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 340, 52, 16, 16, 44
COLOURS, AROUND, POINTS = ("#222222", "#1f5fbf", "#c0392b", "#2a7f3f"), 50, 200


def smoothed(losses):
    steps = range(0, len(losses), max(1, len(losses) // POINTS))
    windows = [losses[max(0, step - AROUND):step + AROUND] for step in steps]
    return [(step, sum(window) / len(window)) for step, window in zip(steps, windows)]


class Axes:
    def __init__(self, steps, least, most):
        self.steps, self.least, self.most = steps, least, most

    def at(self, step, loss):
        across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return LEFT + step / self.steps * across, TOP + down * (self.most - loss) / (self.most - self.least)

    def line(self, points, colour, width):
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*point) for point in points))
        return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}"/>'

    def words(self, step, loss, text, anchor, shift):
        x, y = self.at(step, loss)
        return f'<text x="{x + shift[0]:.1f}" y="{y + shift[1]:.1f}" text-anchor="{anchor}" font-size="11">{text}</text>'

    def grid(self):
        loss = self.least
        while loss <= self.most + 1e-9:
            yield self.line([(0, loss), (self.steps, loss)], "#e4e4e4", 1)
            yield self.words(0, loss, f"{loss:.1f}", "end", (-6, 4))
            loss += 0.5
        for step in range(0, self.steps + 1, self.steps // 5):
            yield self.words(step, self.least, step, "middle", (0, 16))
        yield self.words(self.steps / 2, self.least, "steps", "middle", (0, 34))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("runs", nargs="+", metavar="TITLE=LOG.jsonl")
    options = parser.parse_args()
    runs = {}
    for named in options.runs:
        title, _, path = named.partition("=")
        runs[title] = [json.loads(line) for line in open(path)]
    means = {title: smoothed([row["loss"] for row in rows]) for title, rows in runs.items()}
    values = [loss for points in means.values() for _, loss in points]
    axes = Axes(max(map(len, runs.values())), int(2 * min(values)) / 2, int(2 * max(values) + 1) / 2)
    parts = list(axes.grid())
    for i, (title, rows) in enumerate(runs.items()):
        parts.append(axes.line(means[title], COLOURS[i], 1.6))
        for row in rows:
            if row.get("eval_loss"):
                x, y = axes.at(row["completed_steps"], row["eval_loss"])
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{COLOURS[i]}"/>')
        y = TOP + 16 + 18 * i
        parts.append(f'<text x="{WIDTH - 240}" y="{y}" font-size="12" fill="{COLOURS[i]}">{title}: {rows[-1]["eval_loss"]:.4f}</text>')
    with open(options.output, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                   f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">\n<rect width="{WIDTH}" height="{HEIGHT}" '
                   'fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    main()
