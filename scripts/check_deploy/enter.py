"""Becomes a program in a folder that stands in for a whole machine. Started in namespaces of its own, as their first process.
Takes one argument, JSON: root, words, env, cwd, uid, gid; binds: [path outside, path inside] pairs; shut: the root is
read-only, no capability is left and none can be gained.
"""
import ctypes
import json
import os
import pathlib
import subprocess
import sys

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
NUM_CAPABILITIES = 64


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def bind(outside, inside):
    if pathlib.Path(outside).is_dir():
        inside.mkdir(parents=True, exist_ok=True)
    else:
        inside.touch()
    mount("--bind", outside, inside)


def make_devices(folder):
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", folder)
    for name in DEVICES:
        bind(f"/dev/{name}", folder / name)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        (folder / name).symlink_to(target)
    (folder / "shm").mkdir()
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", folder / "shm")


def furnish(root, binds, shut):
    mount("--bind", root, root)
    for outside, inside in binds:
        bind(outside, root / inside.lstrip("/"))
    if shut:
        mount("-o", "remount,bind,ro", root)
    mount("-t", "proc", "proc", root / "proc")
    mount("--rbind", "/sys", root / "sys")
    make_devices(root / "dev")


def give_up_rights(spec):
    control = ctypes.CDLL(None, use_errno=True).prctl
    if spec["shut"]:
        for capability in range(NUM_CAPABILITIES):
            control(PR_CAPBSET_DROP, capability, 0, 0, 0)
        control(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(spec["gid"])
    os.setuid(spec["uid"])


def main():
    spec = json.loads(sys.argv[1])
    furnish(pathlib.Path(spec["root"]), spec["binds"], spec["shut"])
    os.chroot(spec["root"])
    os.chdir(spec["cwd"])
    os.umask(0o022)
    give_up_rights(spec)
    os.execvpe(spec["words"][0], spec["words"], spec["env"])


if __name__ == "__main__":
    main()
