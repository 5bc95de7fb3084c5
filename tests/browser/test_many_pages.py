"""Many pages of one browser, which has six connections to a server over HTTP/1.1."""

from __future__ import annotations

from app.races.races import Races
from tests.app.conftest import Watched, wait_until
from tests.browser.acts import finished, prompted, race
from tests.browser.servers import served

PAGES = 8


def test_the_eighth_page_of_a_browser_races_and_each_says_that_it_is_left(
    open_page, monkeypatch
) -> None:
    left = list[str]()
    monkeypatch.setattr(Races, "leave", lambda races, session: left.append(session))
    with served(Watched()) as url:
        *others, last = [open_page(url) for _ in range(PAGES)]
        race(last, prompt="octopus")
        finished(last)
        prompted(last, "octopus")
        others[1].close()
        wait_until(lambda: len(left) == 1)
        last.goto("about:blank")
        wait_until(lambda: len(set(left)) == 2)
        for page in (others[0], *others[2:]):  # a page that still asks would see its server stop
            page.goto(f"{url}theme.css")
