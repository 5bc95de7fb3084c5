"""Finds the session and the network address that a request comes from."""

from __future__ import annotations

import functools
import ipaddress

import gradio as gr
from starlette.requests import Request


def session_of(client: gr.Request) -> str:
    """Return the session of a request; "" if it has none. Each open page has its own session."""
    return client.session_hash or ""


def address(client: gr.Request | Request) -> str:
    """Return a visitor's IPv4 address or IPv6 network (see `network_of`); "" if it is unknown.

    If a proxy that FORWARDED_ALLOW_IPS names sent the request, this is the address that the proxy
    passed on.
    """
    host = getattr(client, "client", None)
    return network_of(host.host) if host else ""


@functools.lru_cache(4096)
def network_of(host: str) -> str:
    """Return the part of an IP address that one customer has.

    This is the whole of an IPv4 address, but only the 64-bit network of an IPv6 address. A `host`
    that is no IP address is cut to 64 characters.
    """
    try:
        number = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host[:64]
    if isinstance(number, ipaddress.IPv6Address):
        if number.ipv4_mapped is None:
            return str(ipaddress.ip_network((number, 64), strict=False))
        number = number.ipv4_mapped
    return str(number)
