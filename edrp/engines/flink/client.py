"""Requests to the REST API of a Flink cluster: the one place of the package that talks to a network."""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import time
from typing import Any
from urllib.parse import SplitResult, urlsplit

from edrp.engines.capture import RecordedAnswer
from edrp.engines.errors import EngineError, NoAnswerError

MAX_ANSWER = 1 << 26
"""Most bytes of one answer."""


def read_address(address: str) -> SplitResult:
    """Take the address of a cluster apart, and refuse one that carries credentials or is no address.

    >>> read_address("http://jobmanager:8081/").netloc
    'jobmanager:8081'
    >>> read_address("http://me:secret@jobmanager:8081")
    Traceback (most recent call last):
    edrp.engines.errors.EngineError: --rest: it carries credentials; give http://HOST:PORT, without user, password or query
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise EngineError("--rest", "is no address; give http://HOST:PORT") from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise EngineError("--rest", "it carries credentials; give http://HOST:PORT, without user, password or query")
    if parts.scheme not in ("http", "https") or not host:
        raise EngineError("--rest", f"{address!r} is no address; give http://HOST:PORT or https://HOST:PORT")
    return parts


def is_loopback(address: str) -> bool:
    """Whether an address is of this machine.

    >>> is_loopback("http://127.0.0.1:8081"), is_loopback("http://jobmanager:8081")
    (True, False)
    """
    host = read_address(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class FlinkClient:
    """Asks a cluster, and remembers all answers with path and time.

    Parameters
    ----------
    address
        Such as "http://localhost:8081", with or without a path before those of the API.
    timeout
        Seconds to wait for an answer.
    """

    def __init__(self, address: str, timeout: float = 10.0) -> None:
        self._parts = read_address(address)
        self.address = address.rstrip("/")
        self.answers: list[RecordedAnswer] = []
        self._timeout = timeout

    def get(self, path: str, setting: str | None = None) -> RecordedAnswer:
        """Ask for a path and remember the answer; of settings only the one that is named, since others may hold secrets.

        Raises
        ------
        EngineError
            Nothing answers, the certificate is not trusted, or what answers is not Flink.
        """
        status, body = self.exchange(path)
        answer = None
        if status == 200:
            try:
                answer = json.loads(body)
            except (ValueError, RecursionError):
                raise EngineError(self.address, f"answers {path} with no JSON; give the address of a Flink REST API") from None
        elif status in (401, 403):
            raise EngineError(self.address, f"answers {path} with HTTP {status}; ask behind the proxy that guards it")
        if setting is not None:
            rows = answer if isinstance(answer, list) else []
            answer = [row for row in rows if isinstance(row, dict) and row.get("key") == setting]
        recorded = RecordedAnswer(path, time.time_ns() // 1_000_000, status, answer)
        self.answers.append(recorded)
        return recorded

    def send(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Send a request that may change something, once; the status and the JSON that came, None where none did.

        Raises
        ------
        NoAnswerError
            No answer came.
        EngineError
            It could not be sent.
        """
        status, content = self.exchange(path, method, json.dumps(body).encode())
        try:
            return status, json.loads(content)
        except (ValueError, RecursionError):
            return status, None

    def exchange(
        self, path: str, method: str = "GET", content: bytes | None = None, content_type: str = "application/json"
    ) -> tuple[int, bytes]:
        """Send a request once; the status and what came with it.

        Raises
        ------
        NoAnswerError
            No answer came.
        EngineError
            It could not be sent, or the answer is too long.
        """
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        assert self._parts.hostname is not None
        other = "http" if secure else "https"
        connection = kind(self._parts.hostname, self._parts.port, timeout=self._timeout)
        try:
            headers = {"Accept": "application/json", **({} if content is None else {"Content-Type": content_type})}
            connection.request(method, self._parts.path.rstrip("/") + path, body=content, headers=headers)
            response = connection.getresponse()
            body = response.read(MAX_ANSWER + 1)
        except ssl.SSLCertVerificationError as error:
            why = f"its certificate is not trusted ({error.verify_message}); name its authority in SSL_CERT_FILE"
            raise EngineError(self.address, why) from None
        except ssl.SSLError as error:
            why = f"TLS fails ({error.reason or error}); if the cluster speaks plain HTTP, give http://…"
            raise EngineError(self.address, why) from None
        except ConnectionError as error:
            if isinstance(error, ConnectionRefusedError):
                why = f"cannot be reached ({error.strerror}); give the address of the JobManager's REST API"
                raise EngineError(self.address, why) from None
            why = f"hangs up without an answer; is the JobManager restarting, or does it speak {other}?"
            raise NoAnswerError(self.address, why) from None
        except http.client.HTTPException:
            raise EngineError(self.address, f"what answers is no HTTP; give the address of a REST API, or {other}://…") from None
        except TimeoutError:
            raise NoAnswerError(self.address, f"gives no answer within {self._timeout:g} s; is the JobManager busy?") from None
        except OSError as error:
            why = f"cannot be reached ({error.strerror or error}); give the address of the JobManager's REST API"
            raise EngineError(self.address, why) from None
        finally:
            connection.close()
        if len(body) > MAX_ANSWER:
            raise EngineError(self.address, f"answers {path} with more than {MAX_ANSWER >> 20} MiB")
        return response.status, body
