"""Calls of a local cluster's REST API that change something: uploads, runs, stops. Loopback only."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from edrp.engines.errors import EngineError
from edrp.engines.flink.client import FlinkClient
from edrp.engines.flink.local.processes import LOOPBACK

Found = TypeVar("Found")

SECONDS_BETWEEN_LOOKS = 0.1

SECONDS_TO_ANSWER = 60.0


class LocalRest:
    """The REST API of a cluster that this process has started."""

    def __init__(self, port: int) -> None:
        self.address = f"http://{LOOPBACK}:{port}"
        self._client = FlinkClient(self.address, SECONDS_TO_ANSWER)

    def get(self, path: str) -> Any:
        """The JSON of a path."""
        return self._call("GET", path)

    def post(self, path: str, body: Any) -> Any:
        """Send JSON and return what comes back."""
        return self._call("POST", path, json.dumps(body).encode())

    def put(self, path: str, body: Any) -> Any:
        """Replace what is at a path by JSON."""
        return self._call("PUT", path, json.dumps(body).encode())

    def patch(self, path: str) -> Any:
        """Send a PATCH, with which Flink cancels."""
        return self._call("PATCH", path)

    def upload(self, jar: Path) -> str:
        """Upload a jar and return its identifier."""
        boundary = "edrp-jar"
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="jarfile"; filename="{jar.name}"\r\n'
        head += "Content-Type: application/x-java-archive\r\n\r\n"
        body = head.encode() + jar.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
        answer = self._call("POST", "/jars/upload", body, f"multipart/form-data; boundary={boundary}")
        return Path(answer["filename"]).name

    def reachable(self) -> bool:
        """Whether the API answers."""
        try:
            self.get("/overview")
        except EngineError:
            return False
        return True

    def _call(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        status, content = self._client.exchange(path, method, body, kind)
        if status >= 400:
            raise EngineError(self.address, f"answers {method} {path} with HTTP {status}: {_reason(content)}")
        return json.loads(content) if content else None


def _reason(content: bytes) -> str:
    """The message of Flink, without the lines of a stack; of nested errors the causes, which say what is wrong."""
    try:
        errors = json.loads(content)["errors"]
    except (ValueError, KeyError, TypeError):
        return content[:200].decode("utf-8", "replace")
    lines = [line.strip() for error in errors for line in str(error).splitlines()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or ["no reason"])[-1][:300]


def wait_until(look: Callable[[], Found | None], seconds: float, what: str, place: str) -> Found:
    """Look again and again until there is something; an error that says what was missing after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        answer = look()
        if answer is not None:
            return answer
        if time.monotonic() > end:
            raise EngineError(place, f"{what} within {seconds:g} s; is the machine busy?")
        time.sleep(SECONDS_BETWEEN_LOOKS)
