"""The routes by which phones turn a stage to another chapter and propose prompts to it.

A stage is the page as the audience of a talk sees it. It uses some routes to get a code, to receive
the turns and the prompts that phones send, and to confirm the turns. Phones use other routes to get
their pages, and to send presses and prompts. `/qr` draws a link as a QR code for a phone's camera.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any, TypeVar

import segno
from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from app.api.hall import LENGTH, Open, Proposal, Taken
from app.api.remotes import GONE, Heard, Press, Remotes, Stage
from app.api.visitor import address
from app.races.event_stream import HEADERS
from app.workers.between_steps import BETWEEN_STEPS
from visualize.assets import STATIC

TOO_MANY = "Too many stages have a code here. Close one of them, or try again later."
LINK = 300  # most characters of a link that has a code
NO_LINK = f"text is the link that the code has: http:// or https://, at most {LINK} characters."
# The answers to bodies that are not what they have to be.
SHAPES: dict[type[BaseModel], str] = {
    Press: "A press is {code, phone: 8 to 64 characters, number: 0 .., by: -1, 0 or 1}.",
    Heard: "What a stage has heard is {turn: 1 ..}.",
    Proposal: f"A prompt has 1 to {LENGTH} characters.",
    Open: "A hall is {open: true} or {open: false}.",
    Taken: "A prompt that was picked is {number: 1 ..}.",
}
Body = TypeVar("Body", bound=BaseModel)


class Refused(Exception):
    """Raised to answer a request with a status and a sentence."""

    def __init__(self, status: int, why: str) -> None:
        self.answer = JSONResponse({"error": why}, status)


async def _read(request: Request, kind: type[Body]) -> Body:
    """Return a request's body as an instance of `kind`. Raises Refused if the body is invalid."""
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        raise Refused(422, SHAPES[kind]) from error


@functools.lru_cache(64)
def _code_of(link: str) -> bytes:
    """Return a link's QR code as an SVG file."""
    image = io.BytesIO()
    with BETWEEN_STEPS.work():
        segno.make_qr(link, error="m").save(image, "svg", light="white", xmldecl=False)
    return image.getvalue()


def remote_routes(remotes: Remotes) -> list[Route]:
    remote, hall = (
        (STATIC / "stage" / f"{name}.html").read_text("utf-8") for name in ("remote", "hall")
    )

    one_at_a_time = CapacityLimiter(1)  # the page needs the server's other threads

    def stage_of(request: Request) -> Stage:
        """Return the stage whose key is in the request's path. Raises Refused for other keys."""
        if stage := remotes.of_key(request.path_params["key"]):
            return stage
        raise Refused(404, GONE)

    def reply(status: int, why: str) -> Response:
        return JSONResponse({"error": why} if why else {}, status)

    async def begin(request: Request) -> Response:
        stage = remotes.open(address(request))
        if stage is None:
            raise Refused(429, TOO_MANY)
        return JSONResponse({"code": stage.code, "key": stage.key})

    async def events(request: Request) -> Response:
        stage = remotes.of_key(request.path_params["key"])
        if stage is None:
            return Response(status_code=204)  # after which no browser asks again
        if request.method == "HEAD":
            return Response()  # whether there is one, asked without hearing its turns
        chunks = remotes.listen(stage)
        return StreamingResponse(chunks, media_type="text/event-stream", headers=HEADERS)

    async def heard(request: Request) -> Response:
        message = await _read(request, Heard)
        remotes.heard(stage_of(request), message.turn)
        return JSONResponse({})

    async def press(request: Request) -> Response:
        return reply(*await remotes.press(await _read(request, Press), address(request)))

    async def open_hall(request: Request) -> Response:
        message = await _read(request, Open)
        return JSONResponse({"code": remotes.open_hall(stage_of(request), message.open)})

    async def take(request: Request) -> Response:
        message = await _read(request, Taken)
        remotes.take(stage_of(request), message.number)
        return JSONResponse({})

    async def propose(request: Request) -> Response:
        return reply(*remotes.propose(await _read(request, Proposal), address(request)))

    async def code(request: Request) -> Response:
        text = request.query_params.get("text", "")
        if not text.startswith(("http://", "https://")) or len(text) > LINK:
            raise Refused(422, NO_LINK)
        image = await to_thread.run_sync(_code_of, text, limiter=one_at_a_time)
        forever = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(image, media_type="image/svg+xml", headers=forever)

    def shown(page: str) -> Callable[[Request], Any]:
        async def show(_: Request) -> Response:
            return HTMLResponse(page)  # whatever its code: what is sent says whether it is one

        return show

    def answering(act: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            try:
                response: Response = await act(request)
            except Refused as refused:
                return refused.answer
            return response

        return answer

    posts = {
        "/remotes": begin,
        "/remotes/presses": press,
        "/remotes/{key}/heard": heard,
        "/remotes/{key}/hall": open_hall,
        "/remotes/{key}/hall/taken": take,
        "/halls/prompts": propose,
    }
    return [
        *(Route(path, answering(act), methods=["POST"]) for path, act in posts.items()),
        Route("/remotes/{key}/events", events),
        Route("/qr", answering(code)),
        Route("/remote/{code}", shown(remote)),
        Route("/hall/{code}", shown(hall)),
    ]
