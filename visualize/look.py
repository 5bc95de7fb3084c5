"""Look: the colours, marks and measures of page, films and figures, from static/look.json."""

from __future__ import annotations

import json
from typing import Any

from visualize.assets import STATIC

LOOK: dict[str, Any] = json.loads((STATIC / "look.json").read_text("utf-8"))
COLOURS: dict[str, str] = LOOK["colours"]["light"]
DARK: dict[str, str] = LOOK["colours"]["dark"]
