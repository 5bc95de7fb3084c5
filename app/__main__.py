"""`python -m app`: the same page as `python app.py`."""

from app.handlers import load_model
from app.ui import LAUNCH, build

build(load_model()).launch(**LAUNCH)
