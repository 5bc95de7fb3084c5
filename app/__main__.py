"""`python -m app`: the same page as `python app.py`."""

from app.garage import whole
from app.ui import build, serve

garage = whole()
serve(build(garage.loader, garage.own.facts, garage=garage), garage)
