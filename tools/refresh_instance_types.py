"""Write mnp/cluster/instance_types.json: what EC2 says of every EFA-capable GPU and Trainium instance type.

    python tools/refresh_instance_types.py           # from the capture of DescribeInstanceTypes that moto ships
    python tools/refresh_instance_types.py --live    # from EC2 and the Price List, with your credentials
    python tools/refresh_instance_types.py --check   # write nothing; list each difference, exit 1 if there is one

Prices come from the Price List only; without --live, or with --no-prices, those in the present file are kept, with
their date. So are the zones of regions that were not asked, and the types that are offered there alone. --live asks
every region that the account has enabled, or those of --region. It needs ec2:DescribeRegions,
ec2:DescribeInstanceTypes, ec2:DescribeInstanceTypeOfferings and pricing:GetProducts. Exit code 2: AWS did not answer.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import importlib.metadata
import itertools
import json
import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from tools.instance_type_differences import ZONES, differences

TARGET = Path(__file__).parent.parent / "mnp" / "cluster" / "instance_types.json"
PRICE_REGION = "us-east-1"


def facts(described: dict[str, Any]) -> dict[str, Any]:
    """One instance type of DescribeInstanceTypes, as the package keeps it."""
    network = described["NetworkInfo"]
    return {
        "vcpus": described["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": described["MemoryInfo"]["SizeInMiB"],
        "architecture": described["ProcessorInfo"]["SupportedArchitectures"][0],
        "accelerator": accelerator(described),
        "maximum_efa_interfaces": network["EfaInfo"]["MaximumEfaInterfaces"],
        "network_gbps": _gbps(network["NetworkPerformance"]),
        "network_cards": _runs(network["NetworkCards"]),
        "nvme": [
            {"count": disk["Count"], "size_gb": disk["SizeInGB"]}
            for disk in described.get("InstanceStorageInfo", {}).get("Disks", [])
        ],
        "capacity_block": "capacity-block" in described["SupportedUsageClasses"],
    }


def accelerator(described: dict[str, Any]) -> dict[str, Any] | None:
    """The type's NVIDIA GPUs or Trainium devices, None if it has neither; `memory_mib` is one device's."""
    gpus = [each for each in described.get("GpuInfo", {}).get("Gpus", []) if each["Manufacturer"] == "NVIDIA"]
    neuron = described.get("NeuronInfo", {}).get("NeuronDevices", [])
    trainium = [each for each in neuron if each["Name"].startswith("Trainium")]
    devices = gpus or trainium
    if not devices:
        return None
    return {
        "kind": "gpu" if gpus else "neuron",
        "name": devices[0]["Name"],
        "count": sum(each["Count"] for each in devices),
        "memory_mib": devices[0]["MemoryInfo"]["SizeInMiB"],
    }


def _runs(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Network cards in order, equal neighbours written once with their number: p5 has 32 of a kind."""
    described = (
        {
            "maximum_network_interfaces": card["MaximumNetworkInterfaces"],
            "interface_types": card["InterfaceTypes"],
        }
        for card in sorted(cards, key=lambda card: int(card["NetworkCardIndex"]))
    )
    return [{"cards": len(list(run)), **card} for card, run in itertools.groupby(described)]


def _gbps(performance: str) -> float:
    """Gbit/s of the whole instance: 3200 of "3200 Gigabit", 400 of "4x 100 Gigabit".

    Figures per card exist too, but on some types (g6e.48xlarge, p6-b200) their sum is not what the instance has.

    Raises:
        ValueError: EC2 says it in another form.
    """
    found = re.fullmatch(r"(?:Up to )?(?:(\d+)x )?([\d.]+) Gigabit", performance)
    if found is None:
        raise ValueError(f"network performance {performance!r}; known are '3200 Gigabit' and '4x 100 Gigabit'")
    return int(found[1] or 1) * float(found[2])


def is_wanted(described: dict[str, Any]) -> bool:
    return bool(described["NetworkInfo"].get("EfaSupported") and accelerator(described))


def captured() -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Source, instance types and zone offerings per region, from the capture inside moto."""
    resources = Path(str(importlib.metadata.distribution("moto").locate_file("moto/ec2/resources")))

    def read(file: Path) -> Any:
        return json.loads(gzip.decompress(file.read_bytes()))

    zones = resources / "instance_type_offerings" / "availability-zone"
    offerings = {file.name.split(".")[0]: read(file) for file in zones.iterdir()}
    source = f"EC2 DescribeInstanceTypes, as captured in moto {importlib.metadata.version('moto')}"
    return source, read(resources / "instance_types.json.gz"), offerings


def live(regions: list[str]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The same from EC2, over these regions; if none is named, over every one that the account has enabled."""
    types: dict[str, Any] = {}
    offerings: dict[str, Any] = {}
    for region in regions or enabled_regions():
        ec2 = boto3.client("ec2", region_name=region)
        pages = ec2.get_paginator("describe_instance_types").paginate(
            Filters=[{"Name": "network-info.efa-supported", "Values": ["true"]}]
        )
        types |= {found["InstanceType"]: found for page in pages for found in page["InstanceTypes"]}
        offered = ec2.get_paginator("describe_instance_type_offerings").paginate(LocationType="availability-zone")
        offerings[region] = [offer for page in offered for offer in page["InstanceTypeOfferings"]]
    return "EC2 DescribeInstanceTypes, live", types, offerings


def enabled_regions() -> list[str]:
    return sorted(each["RegionName"] for each in boto3.client("ec2").describe_regions()["Regions"])


def live_price(instance_type: str) -> float | None:
    """On-demand Linux price in USD per hour in PRICE_REGION, None where AWS lists none."""
    wanted = {
        "instanceType": instance_type,
        "regionCode": PRICE_REGION,
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "tenancy": "Shared",
        "capacitystatus": "Used",
    }
    found = boto3.client("pricing", region_name="us-east-1").get_products(
        ServiceCode="AmazonEC2",
        Filters=[{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()],
    )
    for product in found["PriceList"]:
        for term in json.loads(product)["terms"].get("OnDemand", {}).values():
            for dimension in term["priceDimensions"].values():
                if price := float(dimension["pricePerUnit"]["USD"]):
                    return price
    return None


def zones_by_region(name: str, offerings: dict[str, Any]) -> dict[str, list[str]]:
    """The zones of each region in which the type was offered to the account that asked."""
    return {
        region: zones
        for region, offers in sorted(offerings.items())
        if (zones := sorted(offer["Location"] for offer in offers if offer["InstanceType"] == name))
    }


def with_unasked(
    catalogue: dict[str, dict[str, Any]], present: dict[str, dict[str, Any]], asked: Collection[str]
) -> dict[str, dict[str, Any]]:
    """The catalogue with what the present file says of regions that were not asked: silence is no sign of a change."""
    merged = {}
    for name in sorted(catalogue.keys() | present.keys()):
        kept = {region: zones for region, zones in present.get(name, {}).get(ZONES, {}).items() if region not in asked}
        if entry := catalogue.get(name) or (present[name] | {ZONES: {}} if kept else None):
            merged[name] = entry | {ZONES: dict(sorted((kept | entry[ZONES]).items()))}
    return merged


def document(present: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """What the file should hold, given what it holds at present.

    Raises:
        ClientError, BotoCoreError: AWS did not answer.
    """
    source, types, offerings = live(arguments.region) if arguments.live else captured()
    new_prices = arguments.live and arguments.prices
    prices = present["prices"]
    if new_prices:
        prices = prices | {
            "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            "source": "AWS Price List",
        }
    catalogue = {}
    for name in sorted(name for name, described in types.items() if is_wanted(described)):
        kept = present["instance_types"].get(name, {}).get("usd_per_hour")
        catalogue[name] = facts(types[name]) | {
            "usd_per_hour": live_price(name) if new_prices else kept,
            ZONES: zones_by_region(name, offerings),
        }
    if arguments.live:
        catalogue = with_unasked(catalogue, present["instance_types"], offerings.keys())
    return {"source": source, "prices": prices, "instance_types": catalogue}


def rendered(content: dict[str, Any]) -> str:
    """JSON with a line per fact, so that a refresh reads well as a diff."""
    lines = []
    for name, entry in content["instance_types"].items():
        body = ",\n".join(f"      {json.dumps(key)}: {json.dumps(value)}" for key, value in entry.items())
        lines.append(f"    {json.dumps(name)}: {{\n{body}\n    }}")
    head = "".join(f"  {json.dumps(key)}: {json.dumps(content[key])},\n" for key in ("source", "prices"))
    return "{\n" + head + '  "instance_types": {\n' + ",\n".join(lines) + "\n  }\n}\n"


def check(present: dict[str, Any], found: dict[str, Any], *, exactly: bool) -> int:
    """List what differs; 1 if something does. `exactly`: as text too, with source and date of prices."""
    lines = [*differences(present["instance_types"], found["instance_types"])]
    if exactly and not lines and TARGET.read_text(encoding="utf-8") != rendered(found):
        lines = [f"{TARGET.name}: the source, the prices' date or the layout is not what would be written"]
    if lines:
        print(*lines, f"{TARGET.name} is out of date", sep="\n", file=sys.stderr)
    return 1 if lines else 0


def complaint(error: ClientError | BotoCoreError) -> str:
    """What AWS said, with the permission that a refused call needs, and the way to do without prices."""
    if not isinstance(error, ClientError):
        return str(error)
    of_prices = error.operation_name == "GetProducts"
    help_ = f"it needs {'pricing' if of_prices else 'ec2'}:{error.operation_name}"
    return f"{error}\n{help_}{'; --no-prices keeps the prices of the file' if of_prices else ''}"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--live", action="store_true", help="ask EC2 and the Price List instead of moto's capture")
    parser.add_argument("--region", action="append", default=[], help="with --live: ask this region; may be repeated")
    parser.add_argument("--no-prices", dest="prices", action="store_false", help="with --live: ask for no prices")
    parser.add_argument("--check", action="store_true", help="write nothing; list differences, exit 1 if there is one")
    arguments = parser.parse_args(words)
    if not arguments.live and (arguments.region or not arguments.prices):
        parser.error("--region and --no-prices say what --live asks for")
    present = json.loads(TARGET.read_text(encoding="utf-8"))
    try:
        found = document(present, arguments)
    except (ClientError, BotoCoreError) as error:
        print(complaint(error), file=sys.stderr)
        return 2
    if arguments.check:
        return check(present, found, exactly=not arguments.live)
    TARGET.write_text(rendered(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
