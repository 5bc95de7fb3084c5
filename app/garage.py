"""The garage: every model that the page shows, with the reason where one cannot race, and the
weights of those that do.

The page's own model is always there, in main memory. Of the public ones one at a time is kept warm;
another is loaded when a race asks for it, after the first has been freed.
"""

from __future__ import annotations

import contextlib
import gc
import html
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from huggingface_hub import constants

from app.model import Facts, Loader, load_embedded, warm
from app.settings import SETTINGS, AppSettings
from engine.models import load
from engine.models.base import ImageModel
from engine.models.card import CARDS, Card, ModelError
from engine.models.device import check, resolve_device, resolve_dtype, zero_gpu
from engine.settings import SettingError
from visualize.swatches import sheet

Tell = Callable[[float, str], None]
# a model; on ZeroGPU anything: the model is read where it is lent a GPU
Load = Callable[[str, Tell], Any]
# lanes that a public model is warmed with: a forward pass of one token, and of a window
WARM = ("ar", "sjd")
OWN, GPU, ZERO = "cpu", "gpu", "zero"  # devices that have a queue of their own

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offer:
    """A model as the page shows it. `off` says why it cannot race here, and `brief` in two or three
    words; nothing where it can. `card` is None for a model that the page was given without one."""

    facts: Facts
    card: Card | None = None
    off: str = ""
    brief: str = ""

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def title(self) -> str:
        return self.card.title if self.card else self.name


class Garage:
    """`loader` has the page's own model, of which `facts` are known; `offers` are the public ones,
    read by `load`."""

    def __init__(
        self,
        loader: Loader,
        facts: Facts,
        offers: Mapping[str, Offer] | None = None,
        load: Load | None = None,
    ) -> None:
        self.own = Offer(facts, CARDS.get(facts.name))
        self.loader, self._load = loader, load or (fetched if zero_gpu() else read)
        self._offers = {facts.name: self.own, **(offers or {})}
        self._lock = threading.Lock()
        self._name, self._public = "", Loader(_never)
        self._lost, self._fetched = "", set[str]()

    @property
    def offers(self) -> list[Offer]:
        """Every model, the page's own first."""
        return [self.offer(name) for name in self._offers]

    def offer(self, name: str) -> Offer:
        """Raises SettingError for a model that the page does not have."""
        if name not in self._offers:
            raise SettingError(
                f"model can be {', '.join(self._offers)} on this page, and nothing else."
            )
        offer = self._offers[name]
        if self._lost and not offer.off and offer is not self.own:
            return Offer(offer.facts, offer.card, self._lost, "GPU lost")
        return offer

    def about(self, name: Any) -> str:
        """What stands beside the choice of this model, as HTML: why it is off, its licence, where
        its sampling is from."""
        offer = next((offer for offer in self.offers if offer.name == name), None)
        card = offer and offer.card
        off = f"<p class='off'>Off: {html.escape(offer.off)}</p>" if offer and offer.off else ""
        if not card:
            return off
        link = (
            f'<a href="{html.escape(card.licence_url)}" target="_blank" rel="noopener'
            ' noreferrer">text</a>'
        )
        return (
            f"{off}<p>{card.grid[0]} × {card.grid[1]} tokens of {card.codes:,} codes,"
            f" {_count(card.parameters)} parameters. Licence: {html.escape(card.licence)}"
            f" ({link}).</p><p>Sampling as in {html.escape(card.source)}.</p>"
        )

    def racing(self, name: str) -> Offer:
        """The same for a model that is to race. Raises SettingError, too, where it cannot."""
        offer = self.offer(name)
        if offer.off:
            raise SettingError(f"{offer.title} cannot race here: {offer.off}")
        return offer

    def device(self, name: str) -> str:
        """Whose queue a race of this model stands in."""
        if name == self.own.name or SETTINGS.device == "cpu":
            return OWN
        return ZERO if zero_gpu() else GPU

    def wait(self, name: str, seconds: float) -> Any:
        """The model (on ZeroGPU: something, when its files are here), or None if it takes longer
        than so many seconds; loading begins where nobody has begun it. Only who has the device may
        ask for a public model. Raises what its loading raised: the next who asks begins it anew."""
        if name in self._fetched:
            return True
        loader = self._loader(name)
        if loader is None:  # whoever asked for the other model has left, but its loading goes on
            with contextlib.suppress(Exception):
                self._public.wait(seconds)
            return None
        try:
            got = loader.wait(seconds)
            # several race at a time, each in a process of its own
            if got is not None and self.device(name) == ZERO:
                self._fetched.add(name)
            return got
        except Exception:
            with self._lock:
                if self._public is loader:
                    self._name = ""
            raise

    def start(self, chosen: str = SETTINGS.model) -> None:
        """Begins to load the page's own model, and the host's choice where it can race."""
        self.loader.start()
        if (
            chosen != self.own.name
            and not self.offer(chosen).off
            and (loader := self._loader(chosen))
        ):
            loader.start()

    def note(self, name: str) -> str:
        """How far the loading is."""
        loader = self._loader(name)
        return loader.note if loader else f"Waiting for another model. {self._public.note}"

    def lose(self, why: str) -> None:
        """The GPU has gone, and with it every public model, until the page is started again."""
        log.error("the GPU was lost")
        with self._lock:
            self._lost, self._name, self._public = why, "", Loader(_never)

    def _loader(self, name: str) -> Loader | None:
        if name == self.own.name:
            return self.loader
        with self._lock:
            if self._name != name and (not self._name or self._public.done):
                self._name, self._public = name, self._begun(name)
            return self._public if self._name == name else None

    def _begun(self, name: str) -> Loader:
        title = self._offers[name].title

        def tell(share: float, words: str) -> None:
            loader.note = told(title, share, words)

        def get() -> ImageModel:
            free()
            return self._load(name, tell)

        return (loader := Loader(get, f"Loading {title}…"))


def _count(parameters: int) -> str:
    return (
        f"{parameters / 1e9:.1f} billion"
        if parameters >= 1e8
        else f"{parameters / 1e6:.1f} million"
    )


def told(title: str, share: float, words: str) -> str:
    """`Downloading Janus-Pro 1B, 43% (1.8 of 4.2 GB)`: progress as the board's note says it."""
    doing = next(
        (verb for verb in ("Downloading", "Loading", "Looking for") if words.startswith(verb)),
        "Loading",
    )
    amount = words.rpartition(": ")[2] if doing == "Downloading" and ": " in words else ""
    return f"{doing} {title}, {min(max(share, 0), 1):.0%}" + (f" ({amount})" if amount else "")


def free() -> None:
    """Lets go of a public model's memory: whoever raced with it has left."""
    sheet.cache_clear()
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def read(name: str, tell: Tell) -> ImageModel:
    """A public model, from the hub or its cache, warm. Raises ModelError."""
    return warm(load(name, SETTINGS.device, SETTINGS.dtype, progress=tell), WARM)


def fetched(name: str, tell: Tell) -> Card:
    """Brings a public model's files here, and no further. Raises ModelError."""
    from engine.models.hub import fetch

    card = CARDS[name]
    for i, source in enumerate(card.repos):
        fetch(source, lambda share, words, done=i: tell((done + share) / len(card.repos), words))
    return card


def public(settings: AppSettings = SETTINGS) -> dict[str, Offer]:
    """Every public model as this machine has it."""
    return {
        card.name: Offer(Facts.on(card), card, *reason(card, settings))
        for card in CARDS.values()
        if card.repos
    }


def reason(card: Card, settings: AppSettings) -> tuple[str, str]:
    """Why a model cannot race here, and the same in two or three words; nothing where it can."""
    if card.name not in settings.models:
        if card.research_only:
            return (
                (
                    "it is for research only, so whoever runs this page must switch it on"
                    " (PHOTO_FINISH_MODELS)."
                ),
                "research only",
            )
        return (
            "whoever runs this page has not switched it on (PHOTO_FINISH_MODELS).",
            "not switched on",
        )
    device = resolve_device(settings.device)
    if device.type == "cpu" and settings.device != "cpu":
        return "it needs a GPU, and there is none here.", "no GPU here"
    try:
        check(card, device, resolve_dtype(device, settings.dtype))
    except ModelError as error:
        return str(error), "not enough memory"
    if constants.is_offline_mode():
        from engine.models.hub import fetch

        try:
            for source in card.repos:
                fetch(source)  # says what is missing
        except ModelError as error:
            return str(error), "offline"
    return "", ""


def whole() -> Garage:
    """The page's garage: the embedded model, and every public one."""
    return Garage(Loader(load_embedded), Facts.embedded(), public())


def _never() -> ImageModel:
    raise ModelError("No model is being loaded.")
