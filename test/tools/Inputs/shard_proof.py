"""Checks a proof of `kedge-bench shard --proof`: shard_proof.py INSTANCE PROOF.

Follows the steps on the instance itself, each of which must be allowed, then adds up prices and messages in whole numbers: what
comes out is a bound that no strategies within the limit are below. Shares nothing with the search. Prints cost and bound.
"""

import gzip
import json
import sys
from collections import defaultdict

FORBIDDEN = 10**18
BITS = 60  # behind the point; what is cut off prices and messages leaves other multipliers, which prove a bound as well


def fixed(number):
    top, bottom = number.as_integer_ratio()
    return (top << BITS) // bottom


def plus(one, other):
    return FORBIDDEN if one >= FORBIDDEN or other >= FORBIDDEN else one + other


def check(stands, what, *where):
    if not stands:
        sys.exit(f"the proof is wrong: {what} {' '.join(map(str, where))}")


class Instance:
    def __init__(self, path):
        with open(path, "rb") as file:
            text = file.read()
        problem = json.loads(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text)["problem"]
        cut = lambda numbers: [min(int(number), FORBIDDEN) for number in numbers]
        self.limit = int(problem.get("usage_limit", 2**62 - 1))
        self.spans = problem["nodes"]["intervals"]
        self.costs = [cut(costs) for costs in problem["nodes"]["costs"]]
        self.usages = [cut(usages) for usages in problem["nodes"]["usages"]]
        self.edges = [(*ends, cut(costs)) for ends, costs in zip(problem["edges"]["nodes"], problem["edges"]["costs"])]

    def cost(self, chosen):
        total = 0
        for node, strategy in enumerate(chosen):
            total = plus(total, self.costs[node][strategy])
        for begin, end, costs in self.edges:
            total = plus(total, costs[chosen[begin] * len(self.costs[end]) + chosen[end]])
        return total

    def peak(self, chosen):
        changes = defaultdict(int)
        for (begin, end), usages, strategy in zip(self.spans, self.usages, chosen):
            if begin < end:
                changes[begin] += usages[strategy]
                changes[end] -= usages[strategy]
        used = peak = 0
        for time in sorted(changes):
            used += changes[time]
            peak = max(peak, used)
        return peak


class Reduced:
    """What steps leave: tables[u][v][a][b] is the cost of an edge, for both orders of its nodes."""

    def __init__(self, instance):
        self.limit = instance.limit
        self.costs = [list(costs) for costs in instance.costs]
        self.stays = [set(range(len(costs))) for costs in self.costs]
        self.uses = [[] for _ in self.costs]
        for node, (begin, end) in enumerate(instance.spans):
            if begin < end:
                self.uses[node].append((begin, end, instance.usages[node]))
        self.tables = [{} for _ in self.costs]
        for begin, end, costs in instance.edges:
            columns = len(self.costs[end])
            rows = [costs[at : at + columns] for at in range(0, len(costs), columns)]
            if begin == end:
                self.costs[begin] = [plus(cost, rows[a][a]) for a, cost in enumerate(self.costs[begin])]
            else:
                self.connect(begin, end, rows)
        self.gone = set()
        self.fixed_cost, self.fixed_uses = 0, []

    def connect(self, one, other, rows):
        if other in self.tables[one]:
            rows = [[plus(*pair) for pair in zip(*both)] for both in zip(rows, self.tables[one][other])]
        self.tables[one][other] = rows
        self.tables[other][one] = [list(column) for column in zip(*rows)]

    def remove(self, node):
        for other in self.tables[node]:
            del self.tables[other][node]
        self.tables[node] = {}
        self.gone.add(node)

    def no_more(self, node, better, worse):
        return all(amounts[better] <= amounts[worse] for _, _, amounts in self.uses[node])

    def drop(self, node, strategy, better):
        check(strategy in self.stays[node], "dropped twice", node, strategy)
        if better < 0:
            reason = (
                self.costs[node][strategy] >= FORBIDDEN
                or any(amounts[strategy] > self.limit for _, _, amounts in self.uses[node])
                or any(
                    all(rows[strategy][b] >= FORBIDDEN for b in self.stays[other])
                    for other, rows in self.tables[node].items()
                )
            )
        else:
            reason = better != strategy and better in self.stays[node] and self.dominates(node, better, strategy)
        check(reason, "a strategy that may be needed is dropped:", node, strategy, better)
        self.stays[node].remove(strategy)

    def dominates(self, node, better, worse):
        more = self.costs[node][better] - self.costs[node][worse]
        for other, rows in self.tables[node].items():
            pairs = [(rows[better][b], rows[worse][b]) for b in self.stays[other] if rows[worse][b] < FORBIDDEN]
            if not pairs:
                return True  # `worse` goes with nothing
            if any(mine >= FORBIDDEN for mine, _ in pairs):
                return False
            more += max(mine - theirs for mine, theirs in pairs)
        return more <= 0 and self.costs[node][better] < FORBIDDEN and self.no_more(node, better, worse)

    def fix(self, node, strategy):
        check(self.stays[node] == {strategy}, "not the only strategy:", node, strategy)
        for other, rows in self.tables[node].items():
            self.costs[other] = [plus(*pair) for pair in zip(self.costs[other], rows[strategy])]
        self.fixed_cost += self.costs[node][strategy]
        self.fixed_uses += [(begin, end, amounts[strategy]) for begin, end, amounts in self.uses[node]]
        self.remove(node)

    def take(self, node, leader, answers):
        """Costs and uses of `node`, by the strategies of the leader."""
        rows = self.tables[leader][node]
        for a in self.stays[leader]:
            check(answers[a] in self.stays[node], "not an answer:", node, leader, a)
            self.costs[leader][a] = plus(self.costs[leader][a], plus(self.costs[node][answers[a]], rows[a][answers[a]]))
        for begin, end, amounts in self.uses[node]:
            self.uses[leader].append((begin, end, [amounts[b] if b >= 0 else 0 for b in answers]))

    def gather(self, node):
        sums = {}
        for begin, end, amounts in self.uses[node]:
            known = sums.get((begin, end))
            sums[begin, end] = [x + y for x, y in zip(known, amounts)] if known else list(amounts)
        self.uses[node] = [(*span, amounts) for span, amounts in sums.items()]

    def follow(self, node, leader, answers):
        check(set(self.tables[node]) == {leader}, "follows, but has other neighbours:", node)
        rows = self.tables[leader][node]
        for a in self.stays[leader]:
            best = answers[a]
            least = plus(self.costs[node][best], rows[a][best])
            for b in self.stays[node]:
                cost = plus(self.costs[node][b], rows[a][b])
                check(
                    cost >= FORBIDDEN or (least <= cost and self.no_more(node, best, b)),
                    "not the best answer:", node, leader, a,
                )  # fmt: skip
        self.take(node, leader, answers)
        self.remove(node)

    def join(self, node, leader, answers):
        rows = self.tables[leader][node]
        for a in self.stays[leader]:
            allowed = [b for b in self.stays[node] if rows[a][b] < FORBIDDEN]
            check(allowed == [answers[a]], "joins, but goes with several:", node, leader, a)
        self.take(node, leader, answers)
        tables = self.tables[node]
        self.remove(node)
        none = lambda other: [FORBIDDEN] * len(self.costs[other])
        for other, rows in tables.items():
            if other != leader:
                self.connect(leader, other, [list(rows[b]) if b >= 0 else none(other) for b in answers])

    def follow_steps(self, steps):
        moves = {"drop": self.drop, "fix": self.fix, "follow": self.follow, "join": self.join}
        dirty = set()
        for name, node, *rest in steps:
            if node in dirty:  # uses of one interval count together
                self.gather(node)
                dirty.remove(node)
            if name in ("follow", "join"):
                dirty.add(rest[0])
            moves[name](node, *rest)


def bound_of(reduced, prices, messages):
    """In units of 2^-BITS."""
    times = sorted(time for time, _ in prices)
    check(all(price >= 0 for _, price in prices) and len(set(times)) == len(times), "prices")
    price_of = {time: fixed(float(price)) for time, price in prices}
    before = [0]
    for time in times:
        before.append(before[-1] + price_of[time])
    place = {}

    def paid(begin, end):
        for moment in (begin, end):
            if moment not in place:
                low, high = 0, len(times)
                while low < high:
                    middle = (low + high) // 2
                    low, high = (middle + 1, high) if times[middle] < moment else (low, middle)
                place[moment] = low
        return before[place[end]] - before[place[begin]]

    total = (reduced.fixed_cost << BITS) - before[-1] * reduced.limit
    total += sum(paid(begin, end) * amount for begin, end, amount in reduced.fixed_uses)
    left = {}
    for node in set(range(len(reduced.costs))) - reduced.gone:
        left[node] = {a: reduced.costs[node][a] << BITS for a in reduced.stays[node]}
        for begin, end, amounts in reduced.uses[node]:
            price = paid(begin, end)
            for a in left[node] if price else ():
                left[node][a] += price * amounts[a]
    seen = set()
    for one, other, ours, theirs in messages:
        rows = reduced.tables[one][other]
        mine = dict(zip(sorted(reduced.stays[one]), map(fixed, map(float, ours)), strict=True))
        yours = dict(zip(sorted(reduced.stays[other]), map(fixed, map(float, theirs)), strict=True))
        for node, sent in ((one, mine), (other, yours)):
            for strategy, number in sent.items():
                left[node][strategy] -= number
        check((one, other) not in seen and (other, one) not in seen, "messages twice:", one, other)
        seen.add((one, other))
        total += min(
            (rows[a][b] << BITS) + mine[a] + yours[b] for a in mine for b in yours if rows[a][b] < FORBIDDEN
        )
    return total + sum(min(costs.values()) for costs in left.values())


def main():
    instance = Instance(sys.argv[1])
    with open(sys.argv[2]) as file:
        proof = json.load(file)
    chosen = proof["strategies"]
    cost, peak = instance.cost(chosen), instance.peak(chosen)
    check(cost == proof["cost"] and cost < FORBIDDEN, "the cost is", cost)
    check(peak <= instance.limit, "the peak is", peak)
    reduced = Reduced(instance)
    reduced.follow_steps(proof["steps"])
    # Edges without messages cost 0 or more. Costs are whole numbers.
    bound = -(-bound_of(reduced, proof["prices"], proof["messages"]) >> BITS)
    check(bound >= proof["bound"], "the bound is", bound, "claimed:", proof["bound"])
    print(f"cost {cost}, peak {peak}, bound {proof['bound']} proven: {bound}")


if __name__ == "__main__":
    main()
