"""A running study, seen and helped from Python as at its dashboard.

`Study(url, token)` talks to `coplay serve` or `coplay dev`. `coplay desk token --data DIR --name NAME` makes a token;
with `--role act` it may also change things. The server describes the interface at `/desk/api/openapi.json`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from os import PathLike
from typing import Any, Literal
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

__all__ = ["Study", "StudyError"]

Overview = dict[str, Any]


class StudyError(Exception):
    """The server did not do what was asked, or nobody knows whether it did.

    Attributes:
        status: the HTTP status of a refusal, whose text is the server's own; nothing has changed then. `None` if there was
            no answer, or none that can be read: the server may have done what was asked.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class Study:
    """A study that a server runs.

    Args:
        url: the address of the server, such as `https://study.example.edu`, with its path if it has one.
        token: what `coplay desk token` printed.
        timeout_s: seconds until a call gives up.

    Every method raises `StudyError` if the server refuses or does not answer. If it refuses, nothing has changed. If there
    was no answer in time, an order may have been carried out all the same: look at `interventions()` before you repeat it.
    """

    def __init__(self, url: str, token: str, *, timeout_s: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"url={url!r} is no address; write for example 'https://study.example.edu'")
        if parts.query or parts.fragment:
            raise ValueError(f"url={url!r} is no address of a server; leave out what begins with ? or #")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("token is no token; `coplay desk token --data DIR --name NAME` prints one")
        self._base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/desk/api/"
        self._token = token
        self._timeout_s = timeout_s
        # A token goes to its server alone.
        is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._opener = build_opener(_NoRedirect, *([ProxyHandler({})] if is_local else []))

    def __repr__(self) -> str:
        return f"Study({self._base.removesuffix('/desk/api/')!r})"

    def overview(self) -> Overview:
        """The dashboard as it is now: funnel, places, waits, episodes, outcomes, pay, machine and warnings."""
        overview: Overview = self._call("overview")
        return overview

    def events(self) -> Iterator[Overview]:
        """Gives the overview now, and again whenever it changes, until the server stops."""
        with self._open("events", "GET", None) as answer:
            while True:
                with self._failures():
                    line = answer.readline()
                    overview = json.loads(line[len(b"data: ") :]) if line.startswith(b"data: ") else None
                if not line:
                    return
                if overview is not None:
                    yield overview

    def interventions(self) -> list[dict[str, Any]]:
        """The orders so far, oldest first."""
        done: list[dict[str, Any]] = self._call("interventions")
        return done

    def open_recruitment(self) -> None:
        """Lets new people begin, as long as there is a place."""
        self._call("recruitment", {"state": "open"})

    def pause_recruitment(self) -> None:
        """Asks new people to come back later."""
        self._call("recruitment", {"state": "paused"})

    def close_recruitment(self) -> None:
        """Ends new people's visits immediately, with the outcome `study_full`."""
        self._call("recruitment", {"state": "closed"})

    def set_places(self, places: int | Sequence[int]) -> None:
        """Changes how many units are wanted: in all, or of each treatment in the order of `overview()["places"]["cells"]`."""
        self._call("places", {"places": [places] if isinstance(places, int) else list(places)})

    def wait_longer(self, participant: str) -> None:
        """Gives somebody who waits in a lobby their waiting time once more."""
        self._change_wait(participant, "longer")

    def continue_alone(self, participant: str) -> None:
        """Lets somebody who waits in a lobby go on with the AI partner of that lobby."""
        self._change_wait(participant, "alone")

    def move_to_room(self, participant: str, room: str) -> None:
        """Moves somebody who waits in a lobby to another room of it, one of their `rooms` in `overview()["waiting"]`.

        They get the levels that the people of the room share. It is refused if something on their way has used their own.
        """
        self._call(f"participants/{quote(participant, safe='')}/room", {"room": room})

    def end_session(self, participant: str, outcome: str) -> None:
        """Ends somebody's session with an outcome of `overview()["study"]["outcomes"]`; its rule says the pay."""
        self._call(f"participants/{quote(participant, safe='')}/end", {"outcome": outcome})

    def give_seat(self, participant: str, outcome: str, *, bonus: int | None = None, reason: str = "") -> None:
        """Gives somebody's seat in a running episode to the AI partner of the stage, and ends their session.

        Args:
            participant: pseudonym of somebody whose seat `may_be_given`.
            outcome: one of `overview()["study"]["outcomes"]`.
            bonus: in the smallest unit of the currency; `None` for the bonus of the outcome.
            reason: why, if there is a bonus.
        """
        wanted = {"outcome": outcome, "bonus": bonus, "reason": reason}
        self._call(f"participants/{quote(participant, safe='')}/seat", wanted)

    def correct_bonus(self, participant: str, bonus: int, reason: str) -> None:
        """Sets the bonus of an ended session, in the smallest unit of the currency; the total changes by as much."""
        self._call(f"participants/{quote(participant, safe='')}/bonus", {"bonus": bonus, "reason": reason})

    def messages(self, participant: str | None = None) -> list[dict[str, Any]]:
        """The messages between researchers and participants, oldest first: those of one participant, or all."""
        path = "messages" if participant is None else f"participants/{quote(participant, safe='')}/messages"
        found: list[dict[str, Any]] = self._call(path)
        return found

    def write_to_participant(self, participant: str, text: str) -> None:
        """Writes to a participant, who reads it on the page they have open, or when they come back."""
        self._call(f"participants/{quote(participant, safe='')}/messages", {"text": text})

    def write_to_group(self, group: str, text: str) -> None:
        """Writes to everybody in a group of `overview()["episodes"]`."""
        self._call(f"groups/{quote(group, safe='')}/messages", {"text": text})

    def write_to_everybody(self, text: str) -> None:
        """Writes to everybody who is under way."""
        self._call("messages", {"text": text})

    def mark_read(self, participant: str, before: int) -> None:
        """Says that the participant's messages before this number are read, which their page shows."""
        self._call(f"participants/{quote(participant, safe='')}/messages/read", {"before": before})

    def check_attention(
        self, participant: str, question: str, *, within_s: int = 30, choices: Sequence[str] = (), expected: str = ""
    ) -> None:
        """Asks a participant a question with a time limit; `messages(participant)` has the answer.

        Args:
            participant: pseudonym of somebody whose page is open.
            question: the text.
            within_s: the time for the answer, from 5 to 600 seconds.
            choices: two to six answers to choose from; none for a written answer.
            expected: the right answer; empty if there is none.
        """
        asked = {"text": question, "within_s": within_s, "choices": list(choices), "expected": expected}
        self._call(f"participants/{quote(participant, safe='')}/check", asked)

    def download_tables(self, path: str | PathLike[str], format: Literal["csv", "parquet", "jsonl"] = "csv") -> None:
        """Downloads the tables as a zip archive, as `coplay export` writes them; the audit trail has that.

        Episodes are simulated again, so large studies take long: give `Study` a longer `timeout_s` then.
        """
        with open(path, "wb") as file, self._open(f"tables/{format}", "GET", None) as answer, self._failures():
            shutil.copyfileobj(answer, file)

    def _change_wait(self, participant: str, then: Literal["longer", "alone"]) -> None:
        self._call(f"participants/{quote(participant, safe='')}/wait", {"then": then})

    def _call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        with self._open(path, "GET" if body is None else "POST", body) as answer, self._failures():
            text = answer.read()
            return json.loads(text) if text else None

    def _open(self, path: str, method: str, body: dict[str, Any] | None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        with self._failures():
            request = Request(self._base + path, data=data, headers=headers, method=method)
            return self._opener.open(request, timeout=self._timeout_s)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turns whatever goes wrong on the way into a `StudyError`."""
        try:
            yield
        except HTTPError as error:
            with error:
                raise StudyError(_told(error), error.code) from None
        except URLError as error:
            raise StudyError(f"{self._base} does not answer: {error.reason}") from error
        except (OSError, HTTPException) as error:
            raise StudyError(f"{self._base} does not answer: {error or type(error).__name__}") from error
        except ValueError as error:
            raise StudyError(f"{self._base} answers with something else than JSON; is this the address of a running study?") from error


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect: the token would go along, and an order would become a question."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _told(error: HTTPError) -> str:
    """The server's own words."""
    if 300 <= error.code < 400 and (place := error.headers.get("Location")):
        return f"the server sends to {place}; write the address of the study's own server"
    try:
        return str(json.loads(error.read())["error"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return f"the server answers {error.code} {error.reason}; is this the address of a running study?"
