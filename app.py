"""Entry point of a Space and of `python app.py`. It only starts the page."""

import os
import pathlib
import signal

if os.getpid() == 1:  # SIGTERM does not end a container's first process by default
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
if os.environ.get("SPACES_ZERO_GPU"):
    import spaces  # noqa: F401  # must be imported before torch.cuda, which it replaces

# In Gradio's reload mode app.py stands in for app/.
__path__ = [str(pathlib.Path(__file__).with_suffix(""))]

from app.models.model_pool import default_pool
from app.page.launch import serve
from app.page.layout import build

pool = default_pool()
demo = build(pool)

if __name__ == "__main__":
    serve(demo, pool)
