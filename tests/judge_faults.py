"""`python -m tests.judge_faults` judges decoders with one fault each, and right ones that look
wrong, and prints the tables of docs/verdicts.md: what found each. It takes some minutes."""

from __future__ import annotations

import argparse
import sys
import time

from engine.decoders.verdict import Outcome, Verdict
from engine.processors import processors
from tests.tools.judge.faults import RIGHT, WRONG
from tests.tools.judge.rules import Rule
from tools.judge.judge import judge


def found_by(verdict: Verdict) -> str:
    """What showed that a decoder is wrong, in words."""
    if verdict.counterexample is not None:
        return f"enumeration: {verdict.counterexample.model}"
    if verdict.samples is not None and verdict.outcome is Outcome.CHANGED:
        worst = max(verdict.samples.models, key=lambda each: each.log10_e)
        return f"sampled pictures: {worst.model}"
    if verdict.outcome is Outcome.OPEN:
        whys = dict.fromkeys(why.rpartition(": ")[2] for why in verdict.unseen)
        return "; ".join(whys) or "nothing"
    failed = [check.name for check in verdict.checks if not check.passed]
    return f"check: {', '.join(failed)}" if failed else "nothing"


def row(kind: type[Rule], verdict: Verdict) -> str:
    words = " ".join((kind.__doc__ or "").split())
    cells = [kind.__name__, words, verdict.outcome.value, found_by(verdict)]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.judge_faults", description=__doc__)
    parser.add_argument("names", nargs="*", help="of which classes; all, if none is named")
    args = parser.parse_args()
    for title, kinds in (("fault", WRONG), ("looks wrong", RIGHT)):
        print(f"\n| {title} | what it does | verdict | found by |\n| --- | --- | --- | --- |")
        for kind in kinds:
            if not args.names or kind.__name__ in args.names:
                begun = time.monotonic()
                verdict = judge(kind, processes=min(2, processors()))
                print(row(kind, verdict), flush=True)
                seconds = time.monotonic() - begun
                print(f"{kind.__name__}: {seconds:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
