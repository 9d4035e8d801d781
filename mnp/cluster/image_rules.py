"""Rules about the image that nodes boot, in the form of mnp/cluster/rules.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mnp.cluster.ami import AmiParameter, PrebakedAmi, bake_of
from mnp.cluster.problems import Problem
from mnp.cluster.vpc import ExistingVpc, ManagedVpc

AnyAmi = str | AmiParameter | PrebakedAmi


def image_is_baked_where_there_is_a_way_out(vpc: ManagedVpc | ExistingVpc, ami: AnyAmi) -> Iterator[Problem]:
    if bake_of(ami) and isinstance(vpc, ManagedVpc) and not vpc.nat_gateway:
        yield Problem(
            key="ami",
            message="cannot be prebaked without a NAT gateway",
            got="prebaked",
            allowed="ecs, an image id or {parameter: /...}",
            reason="the build host stands in the nodes' subnet and downloads from efa-installer.amazonaws.com and the"
            " dnf repositories",
            fix="keep the NAT gateway, or bake the image elsewhere and name it: ami: {parameter: /...}",
        )


def efa_driver_is_installed_once(ami: AnyAmi, efa_installer: bool) -> Iterator[Problem]:  # noqa: FBT001 -- a rule's parameters are the file's keys
    if bake_of(ami) and efa_installer:
        yield Problem(
            key="efa_installer",
            message="not together with a prebaked image",
            got="true",
            allowed="false, or leave the key out",
            reason="the prebaked image has the same driver already; every boot would take minutes longer for nothing",
            fix="remove efa_installer",
        )


def efa_installer_is_within_reach(vpc: ManagedVpc | ExistingVpc, efa_installer: bool) -> Iterator[Problem]:  # noqa: FBT001 -- a rule's parameters are the file's keys
    if efa_installer and isinstance(vpc, ManagedVpc) and not vpc.nat_gateway:
        yield Problem(
            key="efa_installer",
            message="out of reach without a NAT gateway",
            got="true",
            allowed="false, or leave the key out",
            reason="every node would fail to download from efa-installer.amazonaws.com, and shut down",
            fix="keep the NAT gateway, or remove efa_installer",
        )


RULES: tuple[Callable[..., Iterator[Problem]], ...] = (
    image_is_baked_where_there_is_a_way_out,
    efa_driver_is_installed_once,
    efa_installer_is_within_reach,
)
