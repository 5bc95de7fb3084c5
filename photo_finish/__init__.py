"""Makes the folders of Photo Finish importable under their own names: `import photo_finish`, and
then `import engine`, `import visualize`, `import app`.

Installed, they lie in this folder, so that nothing of so common a name stands among the packages of
others; in a checkout they lie beside it. Where another package has one of these names, that name
means ours from this import on, in the whole program. If the other one was imported before, the name
goes on meaning it, and importing a module of ours by that name ends in a ModuleNotFoundError.
"""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = str(_HERE if (_HERE / "engine").is_dir() else _HERE.parent)
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)
