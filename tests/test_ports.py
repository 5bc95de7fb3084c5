"""Ports that tests serve on."""

from __future__ import annotations

import socket

import pytest

from tests import ports
from tests.ports import free_port


def none_is_free() -> None:
    with pytest.raises(OSError, match="no port is free"), free_port():
        pass


def test_a_port_can_be_served_and_is_not_given_to_anybody_else(monkeypatch) -> None:
    with free_port() as port:
        monkeypatch.setattr(ports, "PORTS", [port])
        none_is_free()
        with socket.create_server(("127.0.0.1", port)):
            none_is_free()


def test_a_port_that_is_served_is_not_given(monkeypatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(ports, "PORTS", [server.getsockname()[1]])
        none_is_free()
