"""`python -m app`: the same page as `python app.py`."""

from app.model import Facts, Loader, load_embedded
from app.ui import build, serve

loader = Loader(load_embedded)
serve(build(loader, Facts.embedded()), loader)
