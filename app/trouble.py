"""Trouble with a GPU, in words for a visitor."""

from __future__ import annotations

import gradio as gr

OUT_OF_MEMORY = "The GPU ran out of memory. Race fewer lanes, or choose a smaller model."
LOST = "The GPU was lost. Recorded races still play, and the embedded model races without a GPU."
QUOTA = (
    "ZeroGPU refused this race: the time it may lend you today is used up. Recorded races still"
    " play, and the embedded model races without a GPU."
)
BUSY = "No GPU was free on ZeroGPU. Try again in a minute; recorded races still play meanwhile."
FAILED = "The race failed. The page's log says why; recorded races still play."
_MEMORY = ("out of memory", "outofmemoryerror")
_LOST = (
    "cuda error",
    "acceleratorerror",
    "no cuda gpus",
    "cublas_status",
    "cudnn_status",
    "device-side assert",
)


def words(text: str) -> str:
    """What an error's text means for a GPU, or nothing."""
    text = text.lower()
    if any(part in text for part in _MEMORY):
        return OUT_OF_MEMORY
    return LOST if any(part in text for part in _LOST) else ""


def lent(error: gr.Error) -> str:
    """What ZeroGPU's own error means: it has a title, which says what kind it is."""
    title, message = str(getattr(error, "title", "")).lower(), str(error.message)
    if any(part in title for part in ("quota", "credits", "illegal duration")):
        return QUOTA
    if "queue" in title or "no gpu was available" in message.lower():
        return BUSY
    return words(message) or LOST
