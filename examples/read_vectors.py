"""Check a rule of speculative verification against the vectors in docs/vectors.json:

    python examples/read_vectors.py docs/vectors.json

It needs NumPy alone. Replace `verify`, or for trees `traverse`, by your engine's rule.
docs/vectors.md describes the fields.
"""

import functools
import itertools
import json
import sys

import numpy as np


def verify(rule, p, q, drafts, uniforms):
    """Verify a chain of H drafts by `rule`, which is "token" or "block".

    p is [H + 1, V], q is [H, V], and drafts and uniforms are [H]. Return the number of accepted
    drafts, the distribution [V] of the token after them, and each draft's probability [H] of
    passing its own test.
    """
    ratio = [p[i][x] / q[i][x] for i, x in enumerate(drafts)]
    scale, tests = [1.0], [min(1.0, r) for r in ratio]
    for r in ratio:
        scale.append(1.0 if rule == "token" else min(1.0, scale[-1] * r))
    left = [np.maximum(scale[i] * p[i] - q[i], 0) for i in range(len(q))]
    if rule == "block":
        for i in range(1, len(q)):
            mass, a = left[i].sum(), scale[i]
            tests[i - 1] = mass / (mass + 1 - a) if a < 1 else 1.0
        tests[-1] = scale[-1]
    passed = np.array(uniforms) < tests
    if rule == "token":
        accepted = int(np.cumprod(passed).sum())
    else:
        accepted = int(np.max(np.flatnonzero(passed) + 1, initial=0))
    if accepted == len(q):
        return accepted, p[-1], tests
    total = left[accepted].sum()
    return accepted, left[accepted] / total if total > 0 else p[accepted], tests


def traverse(p, q, parents, drafts, uniforms):
    """Verify a tree of N drafts and depth H by the rule "traversal".

    p is [H + 1, V], q is [H, V], and parents, drafts and uniforms are [N]. Drafts are numbered from
    1; `parents` has the number of the draft before each, or 0 if the draft follows the root.

    Return the accepted path, the distribution [V] of the token after it, and a probability [N] for
    each draft: that it passes, given that all drafts below it in the tree failed. A path is a list
    of drafts' numbers, the first draft after the root first.
    """
    tests, passed = [0.0] * len(drafts), []

    def visit(node, a, path):
        here, draw = p[len(path)], q[len(path) : len(path) + 1].sum(0)
        for child in [i for i, parent in enumerate(parents, 1) if parent == node]:
            x = drafts[child - 1]
            visit(child, min(1.0, a * here[x] / draw[x]), [*path, child])
            left = np.maximum(a * here - draw, 0)
            mass = left.sum()
            a = mass / (mass + 1 - a) if a < 1 else 1.0
            here = left / mass if mass > 0 else here
            draw = np.where(np.arange(len(draw)) == x, 0, draw)
            draw = draw / draw.sum() if draw.sum() > 0 else draw
        if node:
            tests[node - 1] = a
        if node == 0 or uniforms[node - 1] < a:
            passed.append((path, here))

    visit(0, 1.0, [])
    return *passed[0], tests


def draws(q, parents, drafts=()):
    """Yield each tuple of N drafts that a tree can have, with its probability.

    The drafts after one node are drawn from the q of their depth, without replacement. `drafts` has
    the first drafts, if some are drawn already; the probability is then that of the rest.
    """
    if len(drafts) == len(parents):
        yield drafts, 1.0
        return
    node, depth = parents[len(drafts)], 0
    left = {x for x, parent in zip(drafts, parents, strict=False) if parent == node}
    while node:
        node, depth = parents[node - 1], depth + 1
    row = np.array([0 if x in left else share for x, share in enumerate(q[depth])])
    for x in np.flatnonzero(row):
        for rest, chance in draws(q, parents, (*drafts, int(x))):
            yield rest, chance * row[x] / row.sum()


def chains(rule, p, q):
    """Yield, for each draw of a chain's drafts, its probability and a function that verifies it.

    The function takes uniforms [H]. It returns the accepted tokens, the distribution [V] of the
    token after them, and each draft's probability [H] of passing its own test.
    """
    for drafts in itertools.product(*(np.flatnonzero(row) for row in q)):

        def run(uniforms, drafts=drafts):
            accepted, following, tests = verify(rule, p, q, drafts, uniforms)
            return list(drafts[:accepted]), following, tests

        yield np.prod([q[i][x] for i, x in enumerate(drafts)]), run


def trees(p, q, parents):
    """Yield for a tree what `chains` yields for a chain; uniforms and probabilities are [N]."""
    for drafts, chance in draws(q, parents):

        def run(uniforms, drafts=drafts):
            path, following, tests = traverse(p, q, parents, drafts, uniforms)
            return [drafts[node - 1] for node in path], following, tests

        yield chance, run


def distributions(p, runs, count):
    """Return two exact distributions, over all draws of `count` drafts and all uniforms.

    The first [H + 1] is that of the number of accepted drafts. The second [V, .., V] is that of
    sequences of H + 1 tokens: the committed tokens, continued by p. `runs` is what `chains` or
    `trees` yields.
    """
    counts, sequences = np.zeros(len(p)), np.zeros([p.shape[1]] * len(p))
    for chance, run in runs:
        tests = np.array(run(np.zeros(count))[2])
        for below in itertools.product([True, False], repeat=count):
            weight = chance * np.where(below, tests, 1 - tests).prod()
            if weight > 0:
                tokens, following, _ = run(np.where(below, tests / 2, (1 + tests) / 2))
                rows = [*np.eye(p.shape[1])[tokens], following, *p[len(tokens) + 1 :]]
                counts[len(tokens)] += weight
                sequences += weight * functools.reduce(np.multiply.outer, rows)
    return counts, sequences


def near(values, expected, tolerance):
    """Return whether all values are within the tolerance; False for NaN."""
    return np.abs(values - expected).max() <= tolerance


def failures(case, tolerance):
    """Yield the fields of a case that the rule gets wrong."""
    rule, p, q = case["rule"], np.array(case["p"]), np.array(case["q"])
    parents, drafts, uniforms = case["parents"], case["drafts"], case["uniforms"]
    if parents:
        path, following, tests = traverse(p, q, parents, drafts, uniforms)
        accepted = len(path)
        if path != case["path"]:
            yield "path"
    else:
        accepted, following, tests = verify(rule, p, q, drafts, uniforms)
    found = {"accepted": accepted, "next": following, "acceptance": tests}
    if case["accepted_distribution"] is not None:
        runs = trees(p, q, parents) if parents else chains(rule, p, q)
        counts, sequences = distributions(p, runs, len(drafts))
        found["accepted_distribution"] = counts
        found["first_token"] = sequences.sum(tuple(range(1, len(p))))
        if not near(sequences, functools.reduce(np.multiply.outer, p), tolerance):
            yield "the distribution of whole sequences"
    for name, values in found.items():
        if not near(np.array(values), case[name], tolerance):
            yield name


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        vectors = json.load(file)
    failed = {case["name"]: [*failures(case, vectors["tolerance"])] for case in vectors["cases"]}
    for name, fields in failed.items():
        if fields:
            print(f"{name}: {', '.join(fields)}")
    print(f"{sum(map(bool, failed.values()))} of {len(failed)} cases fail")
    sys.exit(any(failed.values()))


if __name__ == "__main__":
    main()
