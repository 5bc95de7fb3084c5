"""The entry point of a Space, and of `python app.py`: starts the page, nothing else."""

import os
import pathlib

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
if os.environ.get("SPACES_ZERO_GPU"):
    import spaces  # noqa: F401  # before anything that knows CUDA, which it stands in for

# in gradio's reload mode app.py stands in for app/
__path__ = [str(pathlib.Path(__file__).with_suffix(""))]

from app.garage import whole
from app.ui import build, serve

garage = whole()
demo = build(garage.loader, garage.own.facts, garage=garage)

if __name__ == "__main__":
    serve(demo, garage)
