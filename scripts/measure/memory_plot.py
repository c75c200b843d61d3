"""The plot of memory_curves.py: a panel a model, added time (%) over the memory of activations (%), as one SVG."""
from xml.sax.saxutils import escape

WIDTH, HEIGHT, COLUMNS = 400, 300, 2
LEFT, TOP, RIGHT, BOTTOM = 52, 34, 16, 44
# Colour of a policy, and where its name stands beside its dot, so that neighbours stay readable.
MARKS = {"none": ("#222222", (14, -6)), "attention": ("#2a7f3f", (-8, -9)), "sqrt": ("#b8860b", (0, -8)),
         "full": ("#c0392b", (18, 12))}
AUTO, BOUND = "#1f5fbf", "#7a7a7a"


class Panel:
    """Coordinates of one panel; x runs from 0 to 105 % of activations, y to the largest added time."""

    def __init__(self, index, top):
        self.x0, self.y0 = WIDTH * (index % COLUMNS) + LEFT, HEIGHT * (index // COLUMNS) + TOP
        self.top, self.parts = top, []

    def at(self, share, added):
        across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return self.x0 + share / 105 * across, self.y0 + down * (1 - added / self.top)

    def line(self, points, colour, width=1.0, dash=""):
        coordinates = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*point) for point in points))
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline points="{coordinates}" fill="none" stroke="{colour}" '
                          f'stroke-width="{width}"{dashes}/>')

    def dot(self, share, added, colour, radius=3.0):
        x, y = self.at(share, added)
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')

    def text(self, share, added, words, anchor="middle", shift=(0, 0), colour="#222222", size=11):
        x, y = self.at(share, added)
        self.parts.append(f'<text x="{x + shift[0]:.1f}" y="{y + shift[1]:.1f}" text-anchor="{anchor}" '
                          f'fill="{colour}" font-size="{size}">{escape(words)}</text>')

    def axes(self, title, across="activations, of those without recomputation"):
        step = 10 if self.top <= 70 else 20 if self.top <= 140 else 50
        for added in range(0, int(self.top) + 1, step):
            self.line([(0, added), (105, added)], "#e4e4e4")
            self.text(0, added, f"{added} %", "end", (-6, 4))
        for share in range(0, 101, 20):
            self.line([(share, 0), (share, self.top)], "#e4e4e4")
            self.text(share, 0, f"{share} %", shift=(0, 16))
        self.line([(0, self.top), (0, 0), (105, 0)], "#222222")
        self.text(52, self.top, title, shift=(0, -12), size=13)
        self.text(52, 0, across, shift=(0, 32))


def panel(index, title, curve, share_of):
    plans = [p for p in [*curve["shares"].values(), *curve["peers"].values(), curve["smallest"]] if p["found"]]
    plans.sort(key=lambda plan: plan["budget"])
    highest = max(plan["overhead"] for plan in [*plans, *curve["named"].values()])
    drawn = Panel(index, 100 * highest * 1.1 or 1)
    drawn.axes(title)
    none = curve["named"]["none"]
    floor = share_of(none, curve["floor"])
    drawn.line([(floor, 0), (floor, drawn.top)], BOUND, dash="2 3")
    drawn.line([(share_of(p, p["budget"]), 100 * p["bound"]) for p in plans], BOUND, 1.2, "5 3")
    drawn.line([(share_of(p, p["budget"]), 100 * p["overhead"]) for p in plans] + [(100, 0)], AUTO, 1.8)
    for plan in plans:
        drawn.dot(share_of(plan, plan["budget"]), 100 * plan["overhead"], AUTO, 2.6)
    for policy, plan in curve["named"].items():
        if plan["ops"] or policy == "none":
            colour, shift = MARKS[policy]
            place = share_of(plan, plan["peak"]), 100 * plan["overhead"]
            drawn.dot(*place, colour, 4)
            drawn.text(*place, policy, shift=shift, colour=colour)
    return drawn.parts


def legend(index):
    """In the place of the panel after the last."""
    x, y = WIDTH * (index % COLUMNS) + LEFT, HEIGHT * (index // COLUMNS) + TOP + 20
    rows = [(AUTO, "", "auto, by its budget"), (BOUND, "5 3", "proven: no plan within the budget adds less"),
            (BOUND, "2 3", "proven: no plan needs less memory")]
    parts = []
    for i, (colour, dash, words) in enumerate(rows):
        parts.append(f'<line x1="{x}" y1="{y + 24 * i}" x2="{x + 30}" y2="{y + 24 * i}" stroke="{colour}" '
                     f'stroke-width="1.8" stroke-dasharray="{dash or "none"}"/>'
                     f'<text x="{x + 40}" y="{y + 24 * i + 4}" font-size="12">{words}</text>')
    parts.append(f'<text x="{x}" y="{y + 76}" font-size="12">Named dots: the other policies, at their peaks.</text>'
                 f'<text x="{x}" y="{y + 100}" font-size="12">Upright: added time under the cost model.</text>')
    return parts


def plot(curves, share_of):
    """SVG text. `curves`: title -> plans as memory_curves.py collects them; share_of(plan, bytes): percent across."""
    parts = []
    for index, (title, curve) in enumerate(curves.items()):
        parts += panel(index, title, curve, share_of)
    parts += legend(len(curves))
    rows = len(curves) // COLUMNS + 1
    width, height = WIDTH * COLUMNS, HEIGHT * rows
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif">')
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="white"/>', *parts, "</svg>", ""])
