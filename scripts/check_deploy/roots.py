"""Folders that hold a Debian system, and programs that run in them as on a machine of its own."""
import json
import os
import pathlib
import shutil
import subprocess

from common import Refused, output_of, say

ENTER = pathlib.Path(__file__).with_name("enter.py")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Where the network is another than that of the machine outside; what is missing there is not brought in.
NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts")
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
# The official images are minimal ones whose /usr is merged, whose dpkg does not wait for the disk and whose apt keeps
# nothing; a slim one has no documents and no translations.
BASES = {
    "debian:12": [],
    "debian:12-slim": [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "groff", "info", "locale", "man")]
    + ["--dpkgopt=path-include=/usr/share/doc/*/copyright"],
}
MERGED_USR = ["--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", "--include=usr-is-merged"]
KEEP_NOTHING = """DPkg::Post-Invoke {"rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true";};
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
"""


def make_base(image, folder, options):
    """A fresh root like that of the image, made once in `folder`."""
    if image not in BASES:
        raise Refused(f"FROM {image}: it is none of {', '.join(BASES)}; say in roots.py how a like root is made")
    root = folder / ("base-" + image.replace(":", "-"))
    if not root.exists():
        say(f"Fetching a root like {image}")
        fresh = root.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        output_of(["mmdebstrap", "--quiet", "--variant=minbase", *MERGED_USR, *BASES[image], "bookworm", fresh, options.apt_sources])
        (fresh / "etc/dpkg/dpkg.cfg.d/docker-apt-speedup").write_text("force-unsafe-io\n", encoding="utf-8")
        (fresh / "etc/apt/apt.conf.d/docker-clean").write_text(KEEP_NOTHING, encoding="utf-8")
        fresh.rename(root)
    return root


def copy_root(base, root, options):
    """A copy of a base, with the certificates that this machine's way to the network needs."""
    shutil.rmtree(root, ignore_errors=True)
    output_of(["cp", "-a", base, root])
    if options.certificates:
        folder = root / "usr/local/share/ca-certificates"
        folder.mkdir(parents=True, exist_ok=True)
        for file in options.certificates.glob("*.crt"):
            shutil.copy(file, folder)


def proxy_settings():
    return {name: os.environ[name] for name in PROXIES if name in os.environ}


def entry(root, words, *, env, cwd="/", uid=0, gid=0, binds=(), shut=False):
    """The command line that runs `words` in a root, as the first process of its namespaces."""
    binds = [[file, file] for file in NETWORK_FILES] + [[str(outside), inside] for outside, inside in binds]
    spec = {"root": str(root), "words": list(words), "env": env, "cwd": cwd, "uid": uid, "gid": gid, "binds": binds, "shut": shut}
    return ["unshare", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child=KILL",
            "--propagation=private", "python3", str(ENTER), json.dumps(spec)]


def run_step(root, words, log, **settings):
    """A step of a build; its output goes to the file `log`."""
    with log.open("ab") as output:
        command = entry(root, words, **settings)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
    if done.returncode != 0:
        end = log.read_bytes()[-3000:].decode(errors="replace")
        raise Refused(f"{' '.join(words)} ended with {done.returncode}; {log}:\n{end}")
