"""The image that a Dockerfile describes, made without an engine: each instruction is carried out in a root of its own."""
import dataclasses
import json
import pathlib
import shutil
import time

import dockerfile
from common import ROOT, Refused, output_of, say, size_of
from roots import PATH, copy_root, make_base, proxy_settings, run_step


@dataclasses.dataclass
class Image:
    root: pathlib.Path
    env: dict = dataclasses.field(default_factory=lambda: {"PATH": PATH})
    cwd: str = "/"
    user: str = "0:0"
    volumes: list = dataclasses.field(default_factory=list)
    entry_point: list = dataclasses.field(default_factory=list)
    command: list = dataclasses.field(default_factory=list)
    health_options: dict = dataclasses.field(default_factory=dict)
    health_command: list = dataclasses.field(default_factory=list)

    def ids(self):
        """USER in numbers; a name would have to be looked up in the root."""
        uid, _, gid = self.user.partition(":")
        if not (uid.isdigit() and gid.isdigit()):
            raise Refused(f"USER {self.user}: an orchestrator that refuses root can't see who that is; say UID:GID")
        return int(uid), int(gid)

    def environment(self):
        """What a process finds: an engine adds the home folder that the root's passwd file names."""
        home = "/"
        for line in (self.root / "etc/passwd").read_text(encoding="utf-8").splitlines():
            fields = line.split(":")
            if fields[2] == str(self.ids()[0]):
                home = fields[5]
        return {"HOME": home, **self.env}


class Builder:
    """Carries out the instructions of a Dockerfile, stage by stage."""

    def __init__(self, folder, options):
        self.folder = folder
        self.options = options
        self.log = folder / "build.log"
        self.context = folder / "context"
        self.roots = {}
        self.seconds = []  # (instruction, seconds, MB that it added)

    def build(self, text):
        self.log.write_bytes(b"")
        self.take_context()
        *earlier, last = dockerfile.parse_stages(text)
        for stage in earlier:
            root = self.folder / f"stage-{stage.name}"
            if self.options.reuse and root.exists():
                self.roots[stage.name] = root
            else:
                self.build_stage(stage)
        return self.build_stage(last)

    def take_context(self):
        """What is committed; a test holds that .dockerignore names nothing of it."""
        shutil.rmtree(self.context, ignore_errors=True)
        self.context.mkdir()
        archive = self.folder / "context.tar"
        output_of(["git", "-C", ROOT, "archive", f"--output={archive}", "HEAD"])
        output_of(["tar", "--extract", "--no-same-owner", f"--file={archive}", f"--directory={self.context}"])
        archive.unlink()

    def build_stage(self, stage):
        fresh = self.folder / f"stage-{stage.name}.new"
        copy_root(make_base(stage.base, self.folder, self.options), fresh, self.options)
        image = Image(fresh)
        self.seconds.append((f"FROM {stage.base}", 0.0, size_of(fresh)))
        for instruction in stage.instructions:
            self.carry_out(image, instruction)
        whole = fresh.with_suffix("")
        shutil.rmtree(whole, ignore_errors=True)
        self.roots[stage.name] = image.root = fresh.rename(whole)
        return image

    def carry_out(self, image, instruction):
        say(f"{instruction.name} {instruction.text}"[:140])
        method = getattr(self, f"do_{instruction.name.lower()}", None)
        if method is None:
            raise Refused(f"{instruction.name}: this check can't carry it out; teach it to image.py")
        before, start = size_of(image.root), time.monotonic()
        method(image, instruction)
        self.seconds.append((f"{instruction.name} {instruction.text}", time.monotonic() - start, size_of(image.root) - before))

    def do_run(self, image, instruction):
        uid, gid = image.ids()
        env = {**image.environment(), **proxy_settings()}
        run_step(image.root, instruction.words(), self.log, env=env, cwd=image.cwd, uid=uid, gid=gid)

    def do_copy(self, image, instruction):
        words = instruction.text.split()
        source_root = self.context
        if words[0].startswith("--from="):
            source_root = self.roots[words.pop(0).removeprefix("--from=")]
        *sources, target = words
        inside = pathlib.PurePosixPath(image.cwd) / target
        path = image.root / str(inside).lstrip("/")
        if target.endswith(("/", ".")) or len(sources) > 1:
            path.mkdir(parents=True, exist_ok=True)
        for source in sources:
            source = source_root / source.lstrip("/")
            # Of a folder it is the contents that are copied.
            output_of(["cp", "-a", "--no-preserve=ownership", f"{source}/." if source.is_dir() else source, path])

    def do_workdir(self, image, instruction):
        image.cwd = instruction.text.strip()
        (image.root / image.cwd.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def do_user(self, image, instruction):
        image.user = instruction.text.strip()

    def do_env(self, image, instruction):
        image.env.update(dockerfile.parse_environment(instruction.text))

    def do_volume(self, image, instruction):
        image.volumes = json.loads(instruction.text)

    def do_expose(self, image, instruction):
        """Nothing: it tells people, and changes no image."""

    def do_healthcheck(self, image, instruction):
        image.health_options, image.health_command = dockerfile.parse_health_check(instruction.text)

    def do_entrypoint(self, image, instruction):
        image.entry_point = instruction.words()

    def do_cmd(self, image, instruction):
        image.command = instruction.words()

