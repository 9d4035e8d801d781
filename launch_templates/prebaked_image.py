"""How a prebaked image is made: the Image Builder component and the recipe, as pure functions of the cluster.

The component carries the shell files of bake/, and the EFA installer's of boot/, as they are.
https://docs.aws.amazon.com/imagebuilder/latest/userguide/toe-use-documents.html, checked 2026-11-21.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from importlib import resources
from typing import Any

import yaml

from launch_templates.launch_template import root_volume
from launch_templates.user_data import script
from mnp.cluster.ami import Bake
from mnp.cluster.base_image import base_image
from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster

# https://docs.aws.amazon.com/imagebuilder/latest/APIReference/API_CreateComponent.html, checked 2026-11-21.
MOST_CHARACTERS = 16_000
# Of a volume in a recipe; EC2 itself goes further.
# https://docs.aws.amazon.com/imagebuilder/latest/APIReference/API_EbsInstanceBlockDeviceSpecification.html, same day.
LARGEST_VOLUME_GIB = 16_000
# Every phase writes its files here and removes them.
FOLDER = "/var/tmp/mnp-bake"  # noqa: S108 -- on a host that does nothing else


def component_document(cluster: Cluster) -> str:
    """The component's YAML.

    `build` installs, `validate` checks the build host and then makes it forget itself, `test` checks again on an
    instance of the finished image.

    Raises:
        ValueError: it is longer than Image Builder takes.
    """
    bake = _bake(cluster)
    check = ["check.sh", efa_installer_version(), *([cluster.image] if bake.pull_image else [])]
    installs = [["efa-installer.sh", "install"], ["tools.sh"]]
    if bake.pull_image:
        installs.append(["pull-image.sh", cluster.image])
    phases = {
        "build": installs,
        "validate": [check, ["forget-build-host.sh"]],
        "test": [check],
    }
    document = {
        "name": "mnp-node",
        "schemaVersion": 1.0,
        "phases": [{"name": name, "steps": _steps(commands)} for name, commands in phases.items()],
    }
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=MOST_CHARACTERS)
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"an Image Builder component of {len(text)} characters; {MOST_CHARACTERS} are allowed")
    return text


def recipe(cluster: Cluster) -> dict[str, Any]:
    """ParentImage and BlockDeviceMappings of the recipe, in CloudFormation's spelling."""
    return {
        "ParentImage": f"ssm:{base_image(catalogue()[cluster.instance_type]).parameter}",
        "BlockDeviceMappings": [root_volume(min(cluster.root_volume_gib, LARGEST_VOLUME_GIB))],
    }


def version_of(content: Any) -> str:
    """A version that is another whenever the content is: 1, then 60 bits of the content's hash in two numbers.

    Image Builder changes neither component nor recipe; a change is a new version, made before the old one is deleted.
    A number that a person raises would be forgotten. Each number may be at most 2**30 - 1.
    """
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()
    minor, patch = (int.from_bytes(part) >> 2 for part in (digest[:4], digest[4:8]))
    return f"1.{minor}.{patch}"


def efa_installer_version() -> str:
    """The version that efa-installer.sh installs."""
    found = re.search(r"^version=([0-9.]+)$", script("efa-installer.sh"), re.MULTILINE)
    if found is None:
        raise ValueError("efa-installer.sh names no version")
    return found[1]


def file_text(name: str) -> str:
    """The text of a shell file that runs during the bake."""
    if name == "efa-installer.sh":
        return script(name)
    return resources.files(__package__).joinpath("bake", name).read_text(encoding="ascii")


def _bake(cluster: Cluster) -> Bake:
    if cluster.bake is None:
        raise ValueError(f"the image of {cluster.name} is not prebaked")
    return cluster.bake


def _steps(commands: list[list[str]]) -> list[dict[str, Any]]:
    """Steps that write the files, run them in order, and remove them."""
    files = [
        {"path": f"{FOLDER}/{name}", "content": file_text(name), "permissions": "0700", "overwrite": True}
        for name in dict.fromkeys(command[0] for command in commands)
    ]
    runs = [_run(name.removesuffix(".sh"), f"{FOLDER}/{name}", *arguments) for name, *arguments in commands]
    return [
        {"name": "files", "action": "CreateFile", "inputs": files},
        *runs,
        _run("clean-up", "rm", "-r", FOLDER),
    ]


def _run(name: str, *command: str) -> dict[str, Any]:
    return {"name": name, "action": "ExecuteBash", "inputs": {"commands": [shlex.join(command)]}}


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as it is, so that a reader of the component sees the shell files."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)
