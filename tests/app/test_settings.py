from __future__ import annotations

import pytest
from pydantic import ValidationError

from app.settings import AppSettings


def test_environment_sets_what_it_names(monkeypatch) -> None:
    monkeypatch.setenv("PHOTO_FINISH_QUEUE_SIZE", "3")
    assert AppSettings().queue_size == 3


@pytest.mark.parametrize(("name", "value"), [("QUEUE_SIZE", "0"), ("RACE_SECONDS", "soon"), ("UPDATES", "1000")])
def test_values_that_cannot_be_stop_the_page_from_starting(monkeypatch, name, value) -> None:
    monkeypatch.setenv(f"PHOTO_FINISH_{name}", value)
    with pytest.raises(ValidationError):
        AppSettings()
