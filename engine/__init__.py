"""Decoders, the models that they run on, races between decoders, and the traces of races."""

import sys

if sys.flags.optimize > 1:
    raise SystemExit(
        "Photo Finish cannot start with PYTHONOPTIMIZE=2 or `python -OO`, which removes the"
        " docstrings that transformers reads. Leave it out, or set PYTHONOPTIMIZE=1."
    )
