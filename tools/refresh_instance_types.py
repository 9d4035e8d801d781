"""Write mnp/cluster/instance_types.json: what EC2 says of every EFA-capable GPU instance type.

    python tools/refresh_instance_types.py           # from the capture of DescribeInstanceTypes that moto ships
    python tools/refresh_instance_types.py --live    # from EC2 and the Price List, with your credentials
    python tools/refresh_instance_types.py --check   # exit 1 if the file differs from what would be written

Prices come from the Price List only; without --live those in the present file are kept, with their date.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import importlib.metadata
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import boto3

TARGET = Path(__file__).parent.parent / "mnp" / "cluster" / "instance_types.json"
PRICE_REGION = "us-east-1"


def facts(described: dict[str, Any]) -> dict[str, Any]:
    """One instance type of DescribeInstanceTypes, as the package keeps it."""
    network = described["NetworkInfo"]
    gpu = described["GpuInfo"]["Gpus"][0]
    return {
        "vcpus": described["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": described["MemoryInfo"]["SizeInMiB"],
        "architecture": described["ProcessorInfo"]["SupportedArchitectures"][0],
        "gpu": {
            "name": gpu["Name"],
            "count": sum(each["Count"] for each in described["GpuInfo"]["Gpus"]),
            "memory_mib": gpu["MemoryInfo"]["SizeInMiB"],
        },
        "maximum_efa_interfaces": network["EfaInfo"]["MaximumEfaInterfaces"],
        "network_cards": _runs(network["NetworkCards"]),
        "nvme": [
            {"count": disk["Count"], "size_gb": disk["SizeInGB"]}
            for disk in described.get("InstanceStorageInfo", {}).get("Disks", [])
        ],
        "capacity_block": "capacity-block" in described["SupportedUsageClasses"],
    }


def _runs(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Network cards in order, equal neighbours written once with their number: p5 has 32 of a kind."""
    described = (
        {
            "maximum_network_interfaces": card["MaximumNetworkInterfaces"],
            "interface_types": card["InterfaceTypes"],
            "gbps": card["PeakBandwidthInGbps"],
        }
        for card in sorted(cards, key=lambda card: int(card["NetworkCardIndex"]))
    )
    return [{"cards": len(list(run)), **card} for card, run in itertools.groupby(described)]


def is_efa_gpu(described: dict[str, Any]) -> bool:
    gpus = described.get("GpuInfo", {}).get("Gpus", [])
    return bool(described["NetworkInfo"].get("EfaSupported") and gpus and gpus[0]["Manufacturer"] == "NVIDIA")


def captured() -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Source, instance types and zone offerings per region, from the capture inside moto."""
    resources = Path(str(importlib.metadata.distribution("moto").locate_file("moto/ec2/resources")))

    def read(file: Path) -> Any:
        return json.loads(gzip.decompress(file.read_bytes()))

    zones = resources / "instance_type_offerings" / "availability-zone"
    offerings = {file.name.split(".")[0]: read(file) for file in zones.iterdir()}
    source = f"EC2 DescribeInstanceTypes, as captured in moto {importlib.metadata.version('moto')}"
    return source, read(resources / "instance_types.json.gz"), offerings


def live() -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The same from EC2, over every region that the account has enabled."""
    types: dict[str, Any] = {}
    offerings: dict[str, Any] = {}
    for region in sorted(each["RegionName"] for each in boto3.client("ec2").describe_regions()["Regions"]):
        ec2 = boto3.client("ec2", region_name=region)
        pages = ec2.get_paginator("describe_instance_types").paginate(
            Filters=[{"Name": "network-info.efa-supported", "Values": ["true"]}]
        )
        types |= {found["InstanceType"]: found for page in pages for found in page["InstanceTypes"]}
        offered = ec2.get_paginator("describe_instance_type_offerings").paginate(LocationType="availability-zone")
        offerings[region] = [offer for page in offered for offer in page["InstanceTypeOfferings"]]
    return "EC2 DescribeInstanceTypes, live", types, offerings


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


def document(*, use_live: bool) -> dict[str, Any]:
    present = json.loads(TARGET.read_text(encoding="utf-8"))
    source, types, offerings = live() if use_live else captured()
    prices = present["prices"]
    if use_live:
        prices = prices | {
            "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            "source": "AWS Price List",
        }
    catalogue = {}
    for name in sorted(name for name, described in types.items() if is_efa_gpu(described)):
        kept = present["instance_types"].get(name, {}).get("usd_per_hour")
        catalogue[name] = facts(types[name]) | {
            "usd_per_hour": live_price(name) if use_live else kept,
            "availability_zones": zones_by_region(name, offerings),
        }
    return {"source": source, "prices": prices, "instance_types": catalogue}


def rendered(content: dict[str, Any]) -> str:
    """JSON with a line per fact, so that a refresh reads well as a diff."""
    lines = []
    for name, entry in content["instance_types"].items():
        body = ",\n".join(f"      {json.dumps(key)}: {json.dumps(value)}" for key, value in entry.items())
        lines.append(f"    {json.dumps(name)}: {{\n{body}\n    }}")
    head = "".join(f"  {json.dumps(key)}: {json.dumps(content[key])},\n" for key in ("source", "prices"))
    return "{\n" + head + '  "instance_types": {\n' + ",\n".join(lines) + "\n  }\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--live", action="store_true", help="ask EC2 and the Price List instead of moto's capture")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the file is out of date")
    arguments = parser.parse_args()
    text = rendered(document(use_live=arguments.live))
    if not arguments.check:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(
        f"{TARGET.name} differs from {'EC2' if arguments.live else 'the capture'}: run {sys.argv[0]}",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
