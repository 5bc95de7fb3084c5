"""Makes Photo Finish's folders importable: `import photo_finish`, then `import engine`, `app` etc.

In an installed package these folders lie inside this one, so that packages with such common
names do not stand among other packages. In a checkout they lie beside this folder. After this
import each of the names means our folder in the whole program, even if another package has the
same name. If that package was imported before, it keeps the name. Importing a module of ours by
that name then raises ModuleNotFoundError.
"""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = str(_HERE if (_HERE / "engine").is_dir() else _HERE.parent)
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)
