"""The folder for files that visitors upload, and for files made for them."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile

from gradio import route_utils, routes
from starlette.datastructures import FormData

NAME = "GRADIO_TEMP_DIR"
_made: dict[int, str] = {}  # by process: one that is forked from the page's, for a GPU, made none


def have_own_folder() -> None:
    """Give gradio a folder of its own, and let an upload that breaks off leave no file there.

    Only this process's user can read the folder, and it is removed when the process ends. Gradio's
    usual folder is shared by all users: if another user made it, this process cannot write there.
    If the environment variable GRADIO_TEMP_DIR names a folder, gradio keeps that folder instead.
    """
    route_utils.GradioMultiPartParser = Uploads  # type: ignore[misc]
    if not os.environ.get(NAME):
        folder = _made[os.getpid()] = os.environ[NAME] = tempfile.mkdtemp(prefix="photo-finish-")
        routes.DEFAULT_TEMP_DIR = folder  # as gradio read it when it was imported
        atexit.register(_remove)


class Uploads(route_utils.GradioMultiPartParser):
    """Gradio's reader of uploads, changed to remove an upload's files if the upload fails.

    Gradio's own reader removes these files only if the form itself is malformed. If a connection
    ended in the middle of an upload, that reader would leave the part that had arrived.
    """

    async def parse(self) -> FormData:
        try:
            return await super().parse()
        except BaseException:
            for file in self._files_to_close_on_error:
                file.close()
                with contextlib.suppress(FileNotFoundError):  # gradio has removed it
                    os.unlink(file.name)
            raise


def end_at_once(number: int, _: object) -> None:
    """End the program at signal `number`, without waiting for races.

    The folder that `have_own_folder` made is removed first.
    """
    _remove()
    os._exit(128 + number)


def _remove() -> None:
    if folder := _made.pop(os.getpid(), None):
        shutil.rmtree(folder, ignore_errors=True)
