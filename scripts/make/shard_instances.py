#!/usr/bin/env python3
"""Makes instances for `kedge-bench shard`, in the format of the IOPDDL contest: shard_instances.py FOLDER [--seed N].

Chains of operators and graphs as transformers have them (blocks of products and elementwise operators with residuals, each
followed by its backward operators, which keep values in memory from forward to backward). A strategy cuts a tensor into parts:
it costs time and memory by the number of parts and the work, an edge costs what the change between two cuts sends. Some
operators must have the cut of another one (forbidden costs). The limit is a share of the way from the least to the largest
peak of all that could be in use.
"""
import argparse
import json
import pathlib
import random

FORBIDDEN = 10**18
# name: nodes, strategies at most, share of the way from the tightest limit to a loose one, and what edges cost: by the change of cuts, or (noise) anything
INSTANCES = {
    "chain-10": (10, 4, 0.3, "chain"), "chain-1000": (1000, 12, 0.3, "chain"),
    "block-100-loose": (100, 8, 0.9, "block"), "block-100-tight": (100, 8, 0.15, "block"),
    "block-1000-loose": (1000, 16, 0.7, "block"), "block-1000-mid": (1000, 16, 0.3, "block"),
    "block-1000-tight": (1000, 16, 0.1, "block"), "block-1000-least": (1000, 16, 0.01, "block"),
    "block-1000-wide": (1000, 40, 0.3, "block"),
    "block-10000-mid": (10000, 12, 0.3, "block"), "block-10000-tight": (10000, 12, 0.1, "block"),
    "noise-1000-mid": (1000, 12, 0.3, "noise"), "noise-1000-tight": (1000, 12, 0.1, "noise"),
}


def graph(nodes, chain):
    """Edges, and for each node the last time that its value is used."""
    edges, half = [], nodes if chain else nodes // 2
    for node in range(1, nodes):
        edges.append((node - 1, node))
        if not chain and node < half and node % 6 in (2, 5):
            edges.append((max(0, node - 3), node))  # residuals
        if not chain and node >= half and nodes - 1 - node < half:
            edges.append((nodes - 1 - node, node))  # backward reads what forward kept
    edges = sorted({pair for pair in edges if pair[0] != pair[1]})
    last = list(range(1, nodes + 1))
    for source, target in edges:
        last[source] = max(last[source], target + 1)
    return edges, last


def instance(draw, name, nodes, most, share, kind):
    edges, last = graph(nodes, kind == "chain")
    tied, cuts, costs, usages = {}, [], [], []
    for node in range(nodes):
        twin = draw.random() < 0.15 and node > 0
        if twin:
            tied[(node - 1, node)] = True
        # A strategy is the number of parts along rows and columns.
        strategies = cuts[-1] if twin else [(1, 1)] + [(2 ** draw.randrange(4), 2 ** draw.randrange(4))
                                                        for _ in range(draw.randint(1, most - 1))]
        cuts.append(strategies)
        work, size = draw.choice((10, 200, 3000)) * draw.randint(50, 150), draw.choice((1, 8, 64)) * draw.randint(500, 1500)
        costs.append([int(work / (rows * columns) * (1 + 0.1 * draw.random()) + work * 0.05 * (columns - 1)) for rows, columns in strategies])
        usages.append([int(size / (rows * columns) * (1 + 0.05 * draw.random())) for rows, columns in strategies])
    priced = []
    for source, target in edges:
        bytes_sent = draw.randint(200, 60000)
        row = []
        for one in cuts[source]:
            for other in cuts[target]:
                change = abs(one[0].bit_length() - other[0].bit_length()) + abs(one[1].bit_length() - other[1].bit_length())
                row.append(draw.randint(0, bytes_sent) if kind == "noise" else int(bytes_sent * change / 4))
        if (source, target) in tied:
            count = len(cuts[source])
            row = [0 if place // count == place % count else FORBIDDEN for place in range(count * count)]
        priced.append(row)

    def peak(choose):
        changes = [0] * (nodes + 2)
        for node in range(nodes):
            changes[node] += choose(usages[node])
            changes[last[node]] -= choose(usages[node])
        used, most_used = 0, 0
        for change in changes:
            used += change
            most_used = max(most_used, used)
        return most_used

    least, largest = peak(min), peak(max)
    return {"problem": {
        "name": name,
        "nodes": {"intervals": [[node, last[node]] for node in range(nodes)], "costs": costs, "usages": usages},
        "edges": {"nodes": [list(pair) for pair in edges], "costs": priced},
        "usage_limit": least + int(share * (largest - least)) // 3}}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", help="one instance by name")
    options = arguments.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, values in INSTANCES.items():
        if options.only in (None, name):
            draw = random.Random(f"{name} {options.seed}")
            (options.folder / f"{name}.json").write_text(json.dumps(instance(draw, name, *values), separators=(",", ":")))


main()
