#!/usr/bin/env python3
"""cross_walls.py LAYOUT.py FOLDER: crosses every wall between rooms once, in a tree of one-line files, and looks whether
LAYOUT.py tells it; what a room may include must go unmentioned."""
import importlib.util
import pathlib
import shutil
import subprocess
import sys

spec = importlib.util.spec_from_file_location("layout", sys.argv[1])
layout = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layout)

# "passes" is the rule of every phase that has none of its own.
ROOMS = [room for room in layout.ALLOWED if room != "passes"] + ["passes/Memory", "passes/Schedule"]
PUBLIC = ("abi", "session", "kernel", "compiler", "Passes")
ROOTS = ("passes", "driver", "runtime", "tools")


def place(room):
    return f"include/kedge/{room}" if room in PUBLIC else room if room.startswith(ROOTS) else f"lib/{room}"


def header(room):
    return f"{place(room)}/Header.h".removeprefix("include/")


def includes(room):
    """What a file of the room may include, and what not."""
    rule = layout.ALLOWED.get(room, layout.ALLOWED["passes"])
    allowed, forbidden = [header(room)], []
    for other in ROOMS:
        folder = other.split("/")[0]
        is_open = other in rule or (folder in rule and folder != "runtime")
        if other != room:
            (allowed if is_open else forbidden).append(header(other))
    for library, rooms in layout.LIBRARIES.items():
        (allowed if room in rooms or (room not in layout.ALLOWED and "passes" in rooms) else forbidden).append(library + "Header.h")
    return allowed, forbidden


def main():
    root = pathlib.Path(sys.argv[2])
    shutil.rmtree(root, ignore_errors=True)
    walls, doors = {}, {}
    for room in ROOMS:
        folder = root / place(room)
        folder.mkdir(parents=True, exist_ok=True)
        for kind, targets in zip((doors, walls), includes(room)):
            for number, target in enumerate(targets):
                path = folder / f"{'Door' if kind is doors else 'Wall'}{number}.cpp"
                path.write_text(f'#include "{target}"\n')
                kind[f"{path.relative_to(root)}:1:"] = target
    done = subprocess.run([sys.executable, sys.argv[1], root], capture_output=True, text=True)
    told = {line.split(" ")[0]: line for line in done.stdout.splitlines()}
    problems = [f"{place} includes {target}: not told" for place, target in walls.items()
                if f"includes {target}" not in told.get(place, "")]
    problems += [f"told, though it may: {told[place]}" for place in doors if place in told]
    print("\n".join(problems[:20]) or f"{len(ROOMS)} rooms: {len(walls)} walls hold, {len(doors)} doors are open")
    return bool(problems) or done.returncode != 1


sys.exit(main())
