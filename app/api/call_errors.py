"""Messages about wrong calls. No message repeats a value that the caller sent."""

from __future__ import annotations

from typing import Any

import gradio as gr
from fastapi.exceptions import RequestValidationError
from gradio.block_function import BlockFunction
from gradio.route_utils import FnIndexInferError
from gradio.utils import get_function_params
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Match, Route
from starlette.types import Scope

NO_CALL = "There is no call of this id, or its answer was read already. Begin another call."
WRONG_VALUE = "A value does not have the type that this call takes."


def complete(call: BlockFunction, values: list[Any]) -> list[Any]:
    """Return the values that a client sent to `call`, then defaults for values that are missing.

    Values have defaults only if `call` is public. Raises gr.Error if a value without a default is
    missing, or if a public call has too many values.
    """
    if call.api_visibility != "public":
        if len(values) < len(call.inputs):
            words = f"This call takes {len(call.inputs)} values, not {len(values)}."
            raise gr.Error(words, print_exception=False)
        return values
    defaults = [(is_optional, default) for _, is_optional, default, _ in _fields(call)][
        len(values) :
    ]
    if len(values) > len(call.inputs) or not all(is_optional for is_optional, _ in defaults):
        raise gr.Error(_takes(call), print_exception=False)
    return [*values, *(default for _, default in defaults)]


def _fields(call: BlockFunction) -> list[tuple[str, bool, Any, Any]]:
    """Return (name, has a default, default, type) for each value that a call takes."""
    return get_function_params(call.fn)  # type: ignore[arg-type]


def _takes(call: BlockFunction) -> str:
    names = [f"{name}{' (optional)' * is_optional}" for name, is_optional, *_ in _fields(call)]
    return f"/{call.api_name} takes {', '.join(names)}: in this order, or by name."


class UnknownCall(Route):
    """A route that answers 404 if a client asks for the result of a call that is not pending.

    A call is pending from its start until its result has been read. `path` has the parameter
    `event_id`, the call's id. If a pending call has this id, the route does not match, and Gradio's
    own route answers. For any other id, Gradio would begin an answer and break it off.
    """

    def __init__(self, path: str, blocks: gr.Blocks) -> None:
        super().__init__(path, _no_such_call)
        self._blocks = blocks

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        if match is Match.FULL:
            event = child_scope["path_params"]["event_id"]
            waiting = self._blocks._queue.pending_event_ids_session
            if any(event in events for events in list(waiting.values())):
                return Match.NONE, {}
        return match, child_scope


async def _no_such_call(_: Request) -> JSONResponse:
    return JSONResponse({"error": NO_CALL}, 404)


class CallErrors:
    """FastAPI's handlers for calls with a wrong name, wrong fields, or no fields."""

    def __init__(self, blocks: gr.Blocks) -> None:
        self._blocks = blocks

    def handlers(self) -> dict[Any, Any]:
        of_call = dict.fromkeys((TypeError, KeyError, FnIndexInferError), self._reject_call)
        return {**of_call, RequestValidationError: _reject_body}

    async def _reject_call(self, request: Request, error: Exception) -> JSONResponse:
        """Answer a call for which Gradio raised `error`: the name or the fields are wrong.

        Raises `error` again if the request's route does not name a call.
        """
        name = request.path_params.get("api_name")
        if name is None:
            raise error
        public = [c for c in self._blocks.fns.values() if c.api_visibility == "public"]
        for call in public:
            if call.api_name == name:
                return JSONResponse({"error": _takes(call)}, 422)
        names = ", ".join(f"/{call.api_name}" for call in public)
        return JSONResponse({"error": f"There is no call of this name; there are {names}."}, 404)


async def _reject_body(_: Request, error: RequestValidationError) -> JSONResponse:
    wrong = {f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()}
    return JSONResponse({"error": f"{'; '.join(sorted(wrong))}."[:1000]}, 422)
