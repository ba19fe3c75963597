"""A machine with a systemd of its own: a root that systemd-nspawn boots."""
import pathlib
import signal
import subprocess

from common import Refused, children_of, output_of, run, wait_until
from roots import PATH, copy_root, make_base, proxy_settings, run_step

BOOTED = ("running", "degraded")


def make_root(folder, packages, options):
    """What a machine with Debian 12 has, and `packages`."""
    root = folder / "machine"
    copy_root(make_base("debian:12", folder, options), root, options)
    script = f"apt-get update && apt-get install -y --no-install-recommends systemd systemd-sysv dbus {' '.join(packages)}"
    env = {"PATH": PATH, "DEBIAN_FRONTEND": "noninteractive", **proxy_settings()}
    run_step(root, ["/bin/sh", "-c", script], folder / "machine-packages.log", env=env)
    return root


class Machine:
    def __init__(self, root, log):
        self.log = log
        # It registers nowhere: the machine outside need not have a systemd. Its devices are nspawn's own few.
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--boot", "--link-journal=no", "--resolv-conf=off",
                 f"--directory={root}"], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.first = None
        if not wait_until(self._find_first_process, 30) or not wait_until(self.is_booted, 120):
            self.stop()
            raise Refused(f"systemd did not start; {log}:\n{log.read_text(errors='replace')[-3000:]}")

    def _find_first_process(self):
        for child in children_of(self.process):
            if pathlib.Path(f"/proc/{child}/comm").read_text(encoding="utf-8") == "systemd\n":
                self.first = child
        return self.first is not None

    def is_booted(self):
        return self.execute("systemctl is-system-running").stdout.strip() in BOOTED

    def execute(self, command):
        """A command line for a shell, run by root in /src."""
        return run(["nsenter", f"--target={self.first}", "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root", "--wd",
                    "/usr/bin/env", "-i", f"PATH={PATH}", "/bin/sh", "-c", f"cd /src; {command}"], timeout=180)

    def output_of(self, command):
        done = self.execute(command)
        if done.returncode != 0:
            raise Refused(f"{command} ended with {done.returncode}:\n{done.stderr.strip()}")
        return done.stdout

    def property_of(self, name):
        return self.output_of(f"systemctl show vitrine --property={name} --value").strip()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def install_files(root, binary, context):
    """A checkout that has been built, in /src."""
    output_of(["cp", "-a", context, root / "src"])
    target = root / "src/build/release/apps/vitrine"
    target.mkdir(parents=True)
    output_of(["cp", binary, target / "vitrine"])
