"""Messages for the user about failures of a GPU, and about ZeroGPU's own errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.failures import Failure

if TYPE_CHECKING:  # a racer of a cluster has no page, and starts without gradio in half the time
    import gradio as gr

OUT_OF_MEMORY = "The GPU ran out of memory. Race fewer lanes, or choose a smaller model."
DEVICE_LOST = (
    "The GPU was lost. Recorded races still play, and the embedded model races without a GPU."
)
QUOTA = (
    "ZeroGPU rejected this race: your GPU time for today is used up. Recorded races still"
    " play, and the embedded model races without a GPU."
)
BUSY = "No GPU was free on ZeroGPU. Try again in a minute; recorded races still play meanwhile."
BUG = "The race failed. The page's log says why; recorded races still play."
MESSAGES = {Failure.OUT_OF_MEMORY: OUT_OF_MEMORY, Failure.DEVICE_LOST: DEVICE_LOST}


def zerogpu_message(error: gr.Error) -> str:
    """Return the message for an error raised by `spaces`, which has one class for all errors.

    The error's title names the kind of error. If a worker raised an exception, the error's
    message is the name of the exception's class.
    """
    title, message = str(getattr(error, "title", "")).lower(), str(error.message)
    if any(part in title for part in ("quota", "credits", "illegal duration")):
        return QUOTA
    if "queue" in title or message.startswith("No GPU was available"):
        return BUSY
    return OUT_OF_MEMORY if message == "OutOfMemoryError" else DEVICE_LOST
