"""A model hub on 127.0.0.1 for tests: python3 fake_hub.py [FOLDER]. Prints its port, then serves until it is ended.

FOLDER/ORG/REPO are repositories too, of the files that lie there; where REPO ends in -noranges, ranges are ignored.

Repositories, by the fault they have (file content: bytes i * 31 + i // 257 modulo 256):
  good/model        several GGUF files with right SHA-256
  good/split        a GGUF in two parts
  good/safetensors  config, tokenizer and two shards
  good/empty        a README only
  drops/model       every second answer ends half-way through what is left
  wrong/sha         the listing names another SHA-256
  gated/model       403 without the token "let-me-in"
  private/model     401
  moved/model       the file is a redirect to another host, which must not be sent the token
  flaky/model       503 at first, then good
  slow/model        a few bytes at a time
  noranges/model    ranges are ignored, and the first answer ends half-way
  changed/model     as drops, but the file is another one afterwards
GET /log answers every request line so far, with its Range and Authorization headers.
"""
import functools
import hashlib
import http.server
import json
import os
import pathlib
import sys
import threading
import time

MODEL_BYTES = 300_000


@functools.lru_cache
def content(name: str, size: int = MODEL_BYTES) -> bytes:
    seed = sum(name.encode())
    return b"GGUF" + bytes((i * 31 + i // 257 + seed) % 256 for i in range(size - 4))


FILES = {
    "good/model": ["README.md", "model-Q8_0.gguf", "model-Q4_K_M.gguf", "mmproj-model-f16.gguf"],
    "good/split": ["big-Q4_0-00001-of-00002.gguf", "big-Q4_0-00002-of-00002.gguf"],
    "good/safetensors": ["config.json", "tokenizer.json", "model-00001-of-00002.safetensors",
                         "model-00002-of-00002.safetensors", "model.safetensors.index.json", "pytorch_model.bin"],
    "good/empty": ["README.md"],
}
ONE_FILE = ["drops/model", "wrong/sha", "gated/model", "private/model", "moved/model", "flaky/model", "slow/model",
            "noranges/model", "changed/model"]
for repo_id in ONE_FILE:
    FILES[repo_id] = ["model.gguf"]

FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None


def is_on_disk(repo: str) -> bool:
    return FOLDER is not None and repo not in FILES and (FOLDER / repo).is_dir()


def names_of(repo: str) -> list[str]:
    if not is_on_disk(repo):
        return FILES[repo]
    root = FOLDER / repo
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def content_of(repo: str, name: str) -> bytes:
    return (FOLDER / repo / name).read_bytes() if is_on_disk(repo) else content(name)


lock = threading.Lock()
log: list[str] = []
counts: dict[str, int] = {}


def next_count(path: str) -> int:
    with lock:
        counts[path] = counts.get(path, 0) + 1
        return counts[path]


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/log":
            self.answer(200, "\n".join(log).encode())
            return
        with lock:
            log.append(f"{self.headers['Host'].split(':')[0]} {path} range={self.headers['Range']} "
                       f"if_range={self.headers['If-Range']} auth={self.headers['Authorization']}")
        parts = path.strip("/").split("/")
        if path.startswith("/api/models/"):
            self.tree("/".join(parts[2:4]))
        elif "resolve" in parts:
            self.file("/".join(parts[:2]), "/".join(parts[4:]))
        elif path.startswith("/elsewhere/"):
            self.body("moved/model", parts[-1])
        else:
            self.answer(404, b"{}")

    def refused(self, repo: str) -> bool:
        if repo == "private/model":
            self.answer(401, b"{}")
        elif repo == "gated/model" and self.headers["Authorization"] != "Bearer let-me-in":
            self.answer(403, b"{}")
        elif repo not in FILES and not is_on_disk(repo):
            self.answer(404, b"{}")
        else:
            return False
        return True

    def tree(self, repo: str):
        if self.refused(repo):
            return
        rows = [{"type": "directory", "path": "sub"}, {"type": "file", "path": "../../evil.gguf", "size": 1}]
        for name in names_of(repo):
            data = content_of(repo, name)
            row = {"type": "file", "path": name, "size": len(data)}
            if name.endswith((".gguf", ".safetensors")) and repo != "changed/model":
                sha = "0" * 64 if repo == "wrong/sha" else hashlib.sha256(data).hexdigest()
                row["lfs"] = {"oid": sha, "size": len(data)}
            rows.append(row)
        self.answer(200, json.dumps(rows).encode())

    def file(self, repo: str, name: str):
        if self.refused(repo):
            return
        if name not in names_of(repo):
            self.answer(404, b"{}")
        elif repo == "moved/model":
            port = self.server.server_address[1]
            sha = hashlib.sha256(content(name)).hexdigest()
            self.answer(302, b"", {"Location": f"http://localhost:{port}/elsewhere/{name}", "X-Linked-Etag": f'"{sha}"'})
        elif repo == "flaky/model" and next_count(self.path) <= 2:
            self.answer(503, b"busy")
        elif is_on_disk(repo):
            self.part(repo, name)
        else:
            self.body(repo, name)

    def part(self, repo: str, name: str):
        """One range, both ends of it named."""
        data = content_of(repo, name)
        if not self.headers["Range"] or repo.endswith("-noranges"):
            self.whole(data)
            return
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        last = min(last, len(data) - 1)
        self.answer(206, data[first:last + 1], {"Content-Range": f"bytes {first}-{last}/{len(data)}"})

    def whole(self, data: bytes):
        """The client may have enough before the end."""
        try:
            self.answer(200, data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def body(self, repo: str, name: str):
        count = next_count("body" + self.path)
        data = content(name)
        etag = '"one"'
        if repo == "changed/model" and count > 1:
            data, etag = bytes(reversed(data)), '"two"'
        first = 0
        wanted = self.headers["Range"]
        if_range = self.headers["If-Range"]
        if wanted and repo != "noranges/model" and (if_range is None or if_range == etag):
            first = int(wanted.removeprefix("bytes=").split("-")[0])
            if first >= len(data):
                self.answer(416, b"")
                return
        self.send_response(206 if first else 200)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(data) - first))
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        self.send_body(repo, data[first:], count)

    def send_body(self, repo: str, data: bytes, count: int):
        ends_early = (repo == "drops/model" and count <= 3) or (repo in ("noranges/model", "changed/model") and count == 1)
        try:
            if repo == "slow/model":
                for begin in range(0, len(data), 3000):
                    self.wfile.write(data[begin:begin + 3000])
                    self.wfile.flush()
                    time.sleep(0.03)
            else:
                self.wfile.write(data[:len(data) // 2] if ends_early else data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        if ends_early:
            self.close_connection = True


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
