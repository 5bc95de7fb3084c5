"""ModelPool: the models on the page, whether each can race here, and the weights in memory.

The page's own model is the embedded one, which always stays in main memory. The others are public
models, whose weights are on the hub. Only one public model at a time is loaded and warm. When a
race needs another public model, the loaded model is freed first.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import torch
from huggingface_hub import constants

from app.models.model_loader import (
    ModelLoader,
    download_public,
    free_memory,
    load_embedded,
    load_public,
)
from app.settings import AUTO, PREFIX, SETTINGS, AppSettings
from app.workers import zerogpu
from app.workers.race_stream import SLOW_SECONDS, WorkerEvents, duration_words
from app.workers.waiting import Waiting
from engine.decoders import DECODERS, DEFAULT
from engine.infilling import Fills
from engine.models.supply.card import CARDS, ModelCard, ModelError
from engine.models.supply.device import (
    check,
    required_bytes,
    resolve_device,
    resolve_dtype,
    zero_gpu,
)
from engine.models.supply.progress import Progress, Report
from engine.race import Lane, RaceRequest
from engine.race.hardware import device_name
from engine.race.passes import lane_seconds
from engine.settings import SettingError

# What the page opens with by itself: the best models that are free to use, the best one first.
BEST = ("janus-pro-7b", "janus-pro-1b")
# What races on a public model on a CPU unless other lanes are chosen: vanilla AR first, and last
# the one that takes the fewest passes of those that change nothing.
SLOW_LANES = ("ar", "sjd", "scd")
# Loads a public model by name. On ZeroGPU it only downloads the files: workers load them.
Load = Callable[[str, Report], Any]

log = logging.getLogger(__name__)


class Device(Enum):
    """The kinds of device. A race waits only for other races on the same kind."""

    CPU = "cpu"
    GPU = "gpu"
    ZEROGPU = "zerogpu"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Availability:
    """A model's availability on this machine.

    If the model cannot race, `reason` says why in a sentence, and `short_reason` in two or
    three words. `note` has sentences on what else to know before a race.
    """

    reason: str = ""
    short_reason: str = ""
    note: str = ""

    @property
    def available(self) -> bool:
        return not self.reason


class ModelPool:
    """The models of the page.

    `loader` loads the page's own model, whose card is `own`; `load` loads public models.
    """

    def __init__(
        self,
        loader: ModelLoader,
        own: ModelCard,
        public: Mapping[ModelCard, Availability] | None = None,
        load: Load | None = None,
    ) -> None:
        self.loader, self.own = loader, own
        self._load = load or (download_public if zero_gpu() else load_public)
        self._models = {own: Availability(), **(public or {})}
        self._lock = threading.Lock()
        # The public model in memory. Without one the name is empty, and the loader is the page's
        # own.
        self._name, self._public = "", loader
        self._gpu_lost, self._downloaded = "", set[str]()
        # How many races run at a time on a device; one on a device that is not named here.
        self.at_once: dict[Hashable, int] = {Device.ZEROGPU: zerogpu.MAX_CALLS}

    @property
    def cards(self) -> list[ModelCard]:
        """Return every model's card, the page's own first."""
        return list(self._models)

    def find(self, name: Any) -> ModelCard | None:
        """Return the card of the model called `name`, or None. A browser may have sent `name`."""
        return next((card for card in self.cards if card.name == name), None)

    def card(self, name: str) -> ModelCard:
        """Return a model's card. Raises SettingError for a model that is not on the page."""
        if card := self.find(name):
            return card
        names = ", ".join(card.name for card in self.cards)
        raise SettingError(f"model must be one of {names} on this page.")

    def availability(self, name: str) -> Availability:
        card = self.card(name)
        here = self._models[card]
        if self._gpu_lost and here.available and card is not self.own:
            return Availability(self._gpu_lost, "GPU lost")
        return here

    def require(self, name: str) -> ModelCard:
        """Return the card of a model that can race here. Raises SettingError for any other."""
        card, here = self.card(name), self.availability(name)
        if not here.available:
            raise SettingError(f"{card.title} cannot race here: {here.reason}")
        return card

    @cached_property
    def opening(self) -> tuple[ModelCard, str]:
        """Return the model with which the page opens, and a sentence with the reason.

        The sentence is empty if the settings name that model.
        """
        if SETTINGS.model != AUTO:
            card = self.find(SETTINGS.model) or self.own
            here = self.availability(card.name)
            if here.available:
                return card, ""
            return self.own, (
                f"{card.title}, which the host chose for this page, cannot race here: {here.reason}"
                f" The page opens with {self.own.title} instead."
            )
        best = list(filter(None, map(self.find, BEST)))
        why = ""
        if slow := [card.title for card in self.cards if self.is_slow(card.name)]:
            return self.own, (
                f"These models draw real pictures on this machine's processor: {', '.join(slow)}."
            )
        for card in best:
            why = self.availability(card.name).reason or _missing(card)
            if not why:
                return card, f"The page opens with {card.title}, the best model that can race here."
            why = f"The page opens with {self.own.title}. {card.title} cannot race here: {why}"
        return self.own, why

    def fillable(self) -> dict[str, list[int | str]]:
        """Return [rows, columns, codes, part] for each model that can fill in here, by its name.

        `rows` and `columns` are those of the token grid, and `codes` is the size of the codebook.
        `part` is the value of Fills that says what the model can fill in.
        """
        return {
            card.name: [*card.grid, card.codes, card.fills_in.value]
            for card in self.cards
            if card.fills_in is not Fills.NOTHING and self.availability(card.name).available
        }

    def waiting(self, request: RaceRequest) -> Waiting:
        """Return a request's race as a Waiting, which draws the board before the race begins.

        The Waiting names the race's machine only if the race will run on this CPU. Raises
        SettingError for a model that is not on the page.
        """
        on_cpu = self.device(request.model) is Device.CPU
        machine = device_name(torch.device("cpu")) if on_cpu else ""
        return Waiting(request, self.card(request.model), machine)

    def run(self, request: RaceRequest) -> WorkerEvents:
        """Run a race in a process other than the page's, and return the stream of its events."""
        return zerogpu.run_race(request)

    def report_waiting(self, races: int) -> None:
        """Note the number of waiting `races` for metrics; called whenever the number changes."""

    def is_slow(self, name: str) -> bool:
        """Return whether a public model can race here only on a CPU, where a race takes minutes."""
        here = self.availability(name).available
        return here and name != self.own.name and self.device(name) is Device.CPU

    def lanes(self, name: str) -> tuple[str, ...]:
        """Return the lanes that race on a model unless the visitor chooses other lanes."""
        return SLOW_LANES if self.is_slow(name) else DEFAULT

    def device(self, name: str) -> Device:
        """Return the kind of device on which a race of this model runs."""
        if name == self.own.name or resolve_device(SETTINGS.device).type == "cpu":
            return Device.CPU
        return Device.ZEROGPU if zero_gpu() else Device.GPU

    def wait(self, name: str, seconds: float) -> Any:
        """Return the model, or None if it is not loaded within `seconds`.

        The call starts the loading if necessary. On ZeroGPU a public model's files are only
        downloaded. The return value is then not the model: it is None until the files are here,
        and some other value after that. Only a race that has the device may wait for a public
        model, because the call frees another public model that is in memory. Raises what the
        loading raised; the next call then starts loading again.
        """
        if name in self._downloaded:
            return True
        loader = self._loader(name)
        if loader is None:  # another model is loading, for a race that has left
            with contextlib.suppress(Exception):
                self._public.wait(seconds)
            return None
        try:
            model = loader.wait(seconds)
        except Exception:
            with self._lock:
                if self._public is loader:
                    self._name = ""
            raise
        # several of its races run at a time, each in a process of its own
        if model is not None and self.device(name) is Device.ZEROGPU:
            self._downloaded.add(name)
        return model

    def start(self) -> None:
        """Start loading the page's own model, and the model with which the page opens."""
        self.loader.start()
        name = self.opening[0].name
        # Where a race is loading another public model already, this one is left for later.
        if name != self.own.name and (loader := self._loader(name)):
            loader.start()

    def note(self, name: str) -> str:
        """Return the progress of a model's loading, as the board shows it."""
        loader = self._loader(name)
        return loader.note if loader else f"Waiting for another model. {self._public.note}"

    def lose_gpu(self, reason: str) -> None:
        """Turn every public model off until the page is started again."""
        log.error("the GPU was lost")
        with self._lock:
            self._gpu_lost, self._name, self._public = reason, "", self.loader

    def _loader(self, name: str) -> ModelLoader | None:
        """Return the model's loader, or None while a different public model is loading.

        If a public model has no loader yet, it gets one. This replaces the loader, and thereby the
        loaded model, of the previous public model.
        """
        if name == self.own.name:
            return self.loader
        with self._lock:
            if self._name != name and (not self._name or self._public.done):
                self._name, self._public = name, self._new_loader(name, self._public)
            return self._public if self._name == name else None

    def _new_loader(self, name: str, before: ModelLoader) -> ModelLoader:
        title, replaces = self.card(name).title, before is not self.loader

        def report(progress: Progress) -> None:
            loader.note = progress.text(title)

        def load() -> Any:
            if replaces:
                free_memory()
            return self._load(name, report)

        return (loader := ModelLoader(load, f"Loading {title}…"))


def public_models(settings: AppSettings = SETTINGS) -> dict[ModelCard, Availability]:
    """Return the availability on this machine of every public model, by the model's card."""
    return {card: check_availability(card, settings) for card in CARDS.values() if card.repos}


def check_availability(card: ModelCard, settings: AppSettings) -> Availability:
    if card.name not in settings.models:
        if card.research_only:
            return Availability(
                "it is for research only, so the host of this page must switch it on"
                " (PHOTO_FINISH_MODELS).",
                "research only",
            )
        return Availability(
            "the host of this page has not switched it on (PHOTO_FINISH_MODELS).", "not switched on"
        )
    try:
        card.check_code(settings.torchscript)
    except ModelError as error:
        return Availability(str(error), "TorchScript off")
    if card.name in settings.drafters:
        card = card.with_drafter()
    device = resolve_device(settings.device)
    on_cpu, dtype = device.type == "cpu", resolve_dtype(device, settings.dtype)
    if on_cpu and settings.device != "cpu" and (reason := _needs_gpu(card)):
        return Availability(reason, "no GPU here")
    try:
        check(card, device, dtype)
    except ModelError as error:
        return Availability(str(error), "not enough memory")
    if constants.is_offline_mode() and (missing := _missing(card)):
        return Availability(missing, "offline")
    return _slow(card, dtype) if on_cpu else Availability()


def _needs_gpu(card: ModelCard) -> str:
    """Return, in sentences, why a model needs a GPU; "" if it may race on the CPU.

    A public model may race on the CPU if its weights are on this machine. On a Space none may,
    because a Space's visitors share two cores. Callers skip this check if the setting `device` is
    "cpu".
    """
    from engine.models.supply.hub import at_hand

    if "SPACE_ID" in os.environ:
        return "it needs a GPU, and this Space has none."
    try:
        if all(map(at_hand, card.repos)):
            return ""
    except ModelError as error:
        return str(error)
    return (
        "it needs a GPU, and there is none here. On the processor a picture takes minutes: start"
        f" the page with {PREFIX}DEVICE=cpu to race it anyway. Its first race downloads"
        f" {card.download / 1e9:.1f} GB."
    )


def _slow(card: ModelCard, dtype: torch.dtype) -> Availability:
    """Return a model's availability on this CPU, judged by the time that its lanes would take.

    A model is not available if vanilla AR would take over SLOW_SECONDS. Otherwise the note says
    how long a picture takes, and how much memory a race takes.
    """
    plain, other = (lane_seconds(card, dtype, Lane(SLOW_LANES[i])) for i in (0, -1))
    if plain > SLOW_SECONDS:
        return Availability("a picture takes hours on this machine's processor.", "too slow here")
    names = [DECODERS[SLOW_LANES[i]].title for i in (0, -1)]
    memory = required_bytes(card, dtype, len(SLOW_LANES)) / 1e9
    return Availability(
        note=f"It races on this machine's processor: a picture takes {names[0]} about"
        f" {duration_words(plain)} and {names[1]} at most {duration_words(other)}. The more of its"
        f" guesses are right, the faster it is. A race takes {memory:.1f} GB of memory."
    )


def _missing(card: ModelCard) -> str:
    """Return why a model's files are not available, in a sentence; "" if they are."""
    from engine.models.supply.hub import require

    try:
        require(card)
    except ModelError as error:
        return str(error)
    return ""


def default_pool() -> ModelPool:
    """Return a pool of the embedded model and every public model."""
    return ModelPool(ModelLoader(load_embedded), CARDS["embedded"], public_models())
