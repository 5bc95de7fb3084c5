from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import app.settings
from app.models import model_loader
from app.settings import AppSettings, read
from engine.models.supply.card import CARDS


def test_environment_sets_what_it_names(monkeypatch) -> None:
    monkeypatch.setenv("PHOTO_FINISH_QUEUE_SIZE", "3")
    monkeypatch.setenv("PHOTO_FINISH_MODELS", "embedded, anole")
    monkeypatch.setenv("PHOTO_FINISH_CACHE", "~/weights")
    settings = read()
    assert (settings.queue_size, settings.models) == (3, ("embedded", "anole"))
    assert settings.cache == Path("~/weights").expanduser()


def test_sites_that_show_the_page_are_named_as_its_policy_names_them(monkeypatch) -> None:
    assert AppSettings().frames == ()
    monkeypatch.setenv("PHOTO_FINISH_FRAMES", "https://A.example, *.b.example,localhost:8000, *")
    assert AppSettings().frames == ("https://a.example", "*.b.example", "localhost:8000", "*")


def test_a_folder_of_weights_has_to_be_there(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PHOTO_FINISH_WEIGHTS", str(tmp_path))
    assert read().weights == tmp_path
    monkeypatch.setenv("PHOTO_FINISH_WEIGHTS", str(tmp_path / "none"))
    with pytest.raises(SystemExit, match=r"PHOTO_FINISH_WEIGHTS=.*: there is no such folder\."):
        read()


def test_research_models_are_off_unless_switched_on(monkeypatch) -> None:
    assert {name for name, card in CARDS.items() if card.research_only}.isdisjoint(
        AppSettings().models
    )
    monkeypatch.setenv("PHOTO_FINISH_MODELS", "all")
    assert AppSettings().models == tuple(CARDS)


def test_published_drafters_are_off_unless_switched_on(monkeypatch) -> None:
    assert AppSettings().drafters == ()
    monkeypatch.setenv("PHOTO_FINISH_DRAFTERS", "anole,llamagen-256")
    assert AppSettings().drafters == ("anole", "llamagen-256")


@pytest.fixture
def asked(monkeypatch) -> dict[str, object]:
    """The options with which a model would have been loaded."""
    asked: dict[str, object] = {}
    monkeypatch.setattr(model_loader, "load", lambda *args, **options: asked.update(options))
    monkeypatch.setattr(model_loader, "warm_up", lambda model: model)
    return asked


@pytest.mark.parametrize("setting", ["off", "on"])
@pytest.mark.parametrize(
    ("option", "model", "usual"),
    [("graphs", "anole", True), ("torchscript", "simplear-512", False)],
)
def test_a_public_model_is_loaded_as_the_host_says(
    monkeypatch, asked, option, model, usual, setting
) -> None:
    assert getattr(AppSettings(), option) is usual
    monkeypatch.setenv(f"PHOTO_FINISH_{option.upper()}", setting)
    monkeypatch.setattr(model_loader, "SETTINGS", AppSettings())
    model_loader.load_public(model, lambda progress: None)
    assert asked[option] == (setting == "on")


@pytest.mark.parametrize("drafters", [(), ("anole",)])
def test_a_public_model_is_loaded_with_the_drafter_that_is_on(monkeypatch, asked, drafters) -> None:
    fetched = []
    monkeypatch.setattr(model_loader, "SETTINGS", AppSettings(drafters=drafters))
    monkeypatch.setattr(
        "engine.models.supply.hub.fetch_all", lambda card, report: fetched.append(card)
    )
    model_loader.load_public("anole", lambda progress: None)
    assert asked["drafter"] == bool(drafters)
    assert model_loader.download_public("anole", lambda progress: None) == CARDS["anole"]
    assert ("drafter" in [source.part for source in fetched[0].repos]) == bool(drafters)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("QUEUE_SIZE", "0", "{}='0': Input should be greater than or equal to 1"),
        ("RACE_SECONDS", "soon", "{}='soon': Input should be a valid number"),
        ("UPDATES", "1000", "less than or equal to 30"),
        ("MODEL", "dalle", "there is no model 'dalle'; there are embedded, llamagen-b-256"),
        ("MODELS", "embedded,dalle", "there is no model 'dalle'"),
        (
            "DRAFTERS",
            "emu3",
            "LANTERN's authors published no drafter for Emu3-Gen, but for llamagen",
        ),
        ("DRAFTERS", "all", "no drafter for Embedded model"),
        ("DEVICE", "tpu", "'tpu' is not a device: it is auto, cpu"),
        ("DTYPE", "int4", "it is auto, bfloat16"),
        ("FRAMES", "a.example, b.example/x", "'b.example/x' is no site such as slides.example.org"),
        ("FRAMES", "ftp://a.example", "is no site"),
        ("FRAMES", "a.example; script-src *", "is no site"),
        ("CACHE", __file__, "is a file, not a folder"),
        ("QUEUE_SISE", "3", "{} is not a setting; did you mean PHOTO_FINISH_QUEUE_SIZE?"),
        ("ZEBRA", "3", "{} is not a setting."),
        ("PORT", "8000", "{} is not a setting"),  # a person's: GRADIO_SERVER_PORT is the page's
    ],
)
def test_invalid_values_stop_the_page_from_starting(monkeypatch, name, value, words) -> None:
    variable = f"PHOTO_FINISH_{name}"
    monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit) as caught:
        read()
    message = str(caught.value)
    assert words.format(variable) in message
    assert re.search(r"\w[.?]$", message), "one mark ends it"


# https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables
SERVICE = {
    "SERVICE_HOST": "10.96.7.7",
    "SERVICE_PORT": "8000",
    "SERVICE_PORT_SERVE": "8000",
    "PORT": "tcp://10.96.7.7:8000",
    "PORT_8000_TCP": "tcp://10.96.7.7:8000",
    "PORT_8000_TCP_PROTO": "tcp",
    "PORT_8000_TCP_PORT": "8000",
    "PORT_8000_TCP_ADDR": "10.96.7.7",
}


@pytest.mark.parametrize("service", ["PHOTO_FINISH", "PHOTO_FINISH_SERVE_SVC"])
def test_what_kubernetes_sets_for_a_service_is_passed_over_with_a_word(
    monkeypatch, caplog, service
) -> None:
    for name, value in SERVICE.items():
        monkeypatch.setenv(f"{service}_{name}", value)
    assert read() == AppSettings()
    (record,) = caplog.records
    assert all(f"{service}_{name}" in record.getMessage() for name in SERVICE)
    assert "enableServiceLinks: false" in record.getMessage()


def test_the_page_does_not_start_with_wrong_values_and_all_are_named(monkeypatch) -> None:
    monkeypatch.setenv("PHOTO_FINISH_UPDATES", "fast")
    monkeypatch.setenv("PHOTO_FINISH_MODEL", "x")
    with pytest.raises(SystemExit, match="Photo Finish cannot start with these settings") as caught:
        runpy.run_path(app.settings.__file__)  # as its import does
    assert "PHOTO_FINISH_UPDATES='fast'" in caught.value.code
    assert "PHOTO_FINISH_MODEL='x'" in caught.value.code
