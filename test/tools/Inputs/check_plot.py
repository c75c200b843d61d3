"""check_plot.py PLOT.svg PLAN.json TITLE: the plot is XML with the title, and has a circle for each point of the frontier."""
import json
import sys
import xml.etree.ElementTree as xml

plot, plan, title = xml.parse(sys.argv[1]), json.load(open(sys.argv[2], encoding="utf-8")), sys.argv[3]
space = "{http://www.w3.org/2000/svg}"
assert title in [text.text for text in plot.iter(f"{space}text")], title
circles = [(float(circle.get("cx")), float(circle.get("cy"))) for circle in plot.iter(f"{space}circle")]
assert len(circles) == len(plan["frontier"]), (len(circles), len(plan["frontier"]))
for (x, y), (further_x, further_y) in zip(sorted(circles), sorted(circles)[1:]):
    assert further_y >= y, "fewer bytes take more time, so dots rise to the left"
