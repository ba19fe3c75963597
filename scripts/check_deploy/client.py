"""What clients ask a server under check."""
import http.client
import json
import threading
import time

from common import wait_until

PORT = 8080


def ask(path, key=None, body=None, address="127.0.0.1", timeout=120):
    """Status and body; None and the reason where nobody answers."""
    connection = http.client.HTTPConnection(address, PORT, timeout=timeout)
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers_for(key))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError as reason:
        return None, str(reason)
    finally:
        connection.close()


def headers_for(key):
    headers = {"Host": f"localhost:{PORT}", "Content-Type": "application/json"}
    return {**headers, "Authorization": f"Bearer {key}"} if key else headers


def is_healthy():
    return ask("/health", timeout=5)[0] == 200


def wait_for_health(seconds=120):
    return wait_until(is_healthy, seconds)


def chat(key, address="127.0.0.1"):
    messages = [{"role": "user", "content": "Say hello."}]
    return ask("/v1/chat/completions", key, {"messages": messages, "max_tokens": 16}, address)


class Stream:
    """An answer of a given number of tokens that is read while other things happen."""

    def __init__(self, key, num_tokens):
        self.body = {"prompt": "Once upon a time", "max_tokens": num_tokens, "ignore_eos": True, "stream": True}
        self.events = []
        self.failure = None
        self.ended_at = None
        self.thread = threading.Thread(target=self._read, args=(key,), daemon=True)
        self.thread.start()

    def _read(self, key):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
        try:
            connection.request("POST", "/v1/completions", json.dumps(self.body), headers_for(key))
            for line in connection.getresponse():
                if line.startswith(b"data: "):
                    self.events.append(line[6:].decode().strip())
        except (OSError, http.client.HTTPException) as reason:
            self.failure = repr(reason)
        finally:
            self.ended_at = time.monotonic()
            connection.close()

    def wait_for_first_event(self, seconds=60):
        return wait_until(lambda: self.events or self.ended_at, seconds)

    def wait(self, seconds=60):
        self.thread.join(seconds)
        return not self.thread.is_alive()

    def is_whole(self):
        """Every token came, then the closing mark."""
        return self.failure is None and self.events[-1:] == ["[DONE]"] and '"finish_reason":"length"' in "".join(self.events)

    def is_told_of_the_stop(self):
        return '"stopping"' in "".join(self.events[-1:])

    def said(self):
        return f"{len(self.events)} events, failure: {self.failure}, the last: {self.events[-2:]}"
