"""The entry point of a Space, and of `python app.py`: starts the page, nothing else."""

import os
import pathlib

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

__path__ = [str(pathlib.Path(__file__).with_suffix(""))]  # in gradio's reload mode app.py stands in for app/

from app.model import Facts, Loader, load_embedded
from app.ui import build, serve

loader = Loader(load_embedded)
demo = build(loader, Facts.embedded())

if __name__ == "__main__":
    serve(demo, loader)
