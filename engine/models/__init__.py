"""The models, one file per family."""

from __future__ import annotations

from engine.models.base import ImageModel


def load(name: str = "embedded", device: str = "cpu") -> ImageModel:
    """Loads a model by its name. Raises ValueError for a name that is not known."""
    if name != "embedded":
        raise ValueError(f"There is no model called {name!r}; there is embedded.")
    from engine.models.embedded import EmbeddedModel  # transformers takes seconds to import: only who loads a model waits

    return EmbeddedModel(device=device)
