"""A container without an engine: the image's root in namespaces of its own, read-only and without capabilities."""
import pathlib
import signal
import subprocess
import time

from common import Refused, children_of, run, wait_until
from roots import entry


class Volumes:
    """Named volumes: a new one takes the owner and the mode of the image's folder, as engines do it."""

    def __init__(self, image, folder):
        self.binds = []
        for name in image.volumes:
            outside = folder / name.strip("/")
            outside.mkdir(parents=True)
            like = (image.root / name.lstrip("/")).stat()
            outside.chmod(like.st_mode & 0o7777)
            run(["chown", f"{like.st_uid}:{like.st_gid}", outside])
            self.binds.append((outside, name))

    def path(self, name):
        return next(outside for outside, inside in self.binds if inside == name)


def command_line(image, volumes, words):
    uid, gid = image.ids()
    return entry(image.root, [*image.entry_point, *words], env=image.environment(), cwd=image.cwd, uid=uid, gid=gid,
                 binds=volumes.binds, shut=True)


def run_once(image, volumes, words):
    """As `docker run --rm IMAGE WORDS`."""
    return run(command_line(image, volumes, words), timeout=600)


class Container:
    """As `docker run --detach IMAGE WORDS`; without words the image's CMD."""

    def __init__(self, image, volumes, log, words=None):
        self.image = image
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(command_line(image, volumes, words or image.command), stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output)
        self.first = None
        if not wait_until(self._find_first_process, 20):
            raise Refused(f"the container did not start: {log.read_text(errors='replace')}")

    def _find_first_process(self):
        """Its number out here; in there it is 1. Until then it is still furnishing the root."""
        children = children_of(self.process)
        if not children:
            return False
        command = pathlib.Path(f"/proc/{children[0]}/cmdline").read_bytes().split(b"\0")[0].decode()
        self.first = children[0]
        return command == self.image.entry_point[0]

    def execute(self, words):
        """As `docker exec`."""
        uid, gid = self.image.ids()
        env = [f"{name}={value}" for name, value in self.image.environment().items()]
        return run(["nsenter", f"--target={self.first}", "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root", "--wd",
                    f"--setuid={uid}", f"--setgid={gid}", "/usr/bin/env", "-i", *env, *words], timeout=60)

    def is_healthy(self):
        return self.execute(self.image.health_command).returncode == 0

    def stop(self, seconds=40):
        """As `docker stop`: exit status and seconds; killed after those."""
        start = time.monotonic()
        subprocess.run(["kill", f"-{signal.SIGTERM.value}", str(self.first)], check=False)
        try:
            status = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        return status, time.monotonic() - start
