"""Makes Photo Finish's folders importable: `import photo_finish`, then `import engine`, `app` etc.

In an installed package these folders lie inside this one, so that packages with such common
names do not stand among other packages. In a checkout they lie beside this folder. If another
package has one of these names, that name means ours after this import, in the whole program. If
the other package was imported before, its name keeps its meaning. Importing a module of ours by
that name then raises ModuleNotFoundError.
"""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = str(_HERE if (_HERE / "engine").is_dir() else _HERE.parent)
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)
