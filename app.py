"""The entry point of a Space, and of `python app.py`: starts the page, nothing else."""

import os
import pathlib

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

__path__ = [str(pathlib.Path(__file__).with_suffix(""))]  # in gradio's reload mode app.py stands in for app/

from app.handlers import load_model
from app.ui import LAUNCH, build

demo = build(load_model())

if __name__ == "__main__":
    demo.launch(**LAUNCH)
