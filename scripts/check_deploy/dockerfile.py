"""A Dockerfile as a list of stages, each a list of instructions."""
import dataclasses
import json
import re
import shlex


@dataclasses.dataclass
class Instruction:
    name: str
    text: str

    def words(self):
        """Of one in exec form its words; else the text for a shell."""
        if self.text.startswith("["):
            return json.loads(self.text)
        return ["/bin/sh", "-c", self.text]


@dataclasses.dataclass
class Stage:
    base: str
    name: str
    instructions: list


def parse_instructions(text):
    """Comments and continued lines are gone."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [Instruction(*line.split(None, 1)) for line in text.splitlines() if line.strip()]


def parse_stages(text):
    stages = []
    for instruction in parse_instructions(text):
        if instruction.name == "FROM":
            base, name = re.fullmatch(r"(\S+)(?: AS (\S+))?", instruction.text.strip()).groups()
            stages.append(Stage(base, name or str(len(stages)), []))
        else:
            stages[-1].instructions.append(instruction)
    return stages


def parse_environment(text):
    """ENV's NAME=VALUE pairs."""
    return dict(pair.split("=", 1) for pair in shlex.split(text))


def parse_health_check(text):
    """The options of HEALTHCHECK, and the words of its command."""
    options, _, command = text.partition("CMD ")
    return dict(re.findall(r"--([a-z-]+)=(\S+)", options)), Instruction("CMD", command).words()
