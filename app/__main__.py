"""`python -m app`: the same page as `python app.py`."""

from app.ui import LAUNCH, build

build().launch(**LAUNCH)
