"""Prints the list of what modelc is built from (SBOM): CycloneDX 1.5 as JSON, from Cargo.lock by way of `cargo metadata`.

Only what is linked into the program or runs in its build is listed, not what the tests use. There is no time in it: equal sources give equal bytes.
"""

import json
import pathlib
import subprocess
import tomllib
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent


def metadata() -> dict[str, Any]:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def reached(nodes: dict[str, Any], start: str) -> list[str]:
    """Packages that one needs to be built, itself first."""
    order, waiting = [], [start]
    while waiting:
        package = waiting.pop()
        if package not in order:
            order.append(package)
            waiting.extend(needs(nodes[package]))
    return order


def needs(node: dict[str, Any]) -> list[str]:
    return [dependency["pkg"] for dependency in node["deps"] if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])]


def reference(package: dict[str, Any]) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: dict[str, Any], checksums: dict[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package.get("license"):
        # An old spelling of OR that some packages have.
        entry["licenses"] = [{"expression": " OR ".join(part.strip() for part in package["license"].split("/"))}]
    if checksum := checksums.get(reference(package)):
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def locked_checksums() -> dict[str, str]:
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    return {reference(package): package["checksum"] for package in packages if "checksum" in package}


def main() -> None:
    data, checksums = metadata(), locked_checksums()
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    root = next(id for id, package in packages.items() if package["name"] == "modelc")
    ids = reached(nodes, root)
    program = component(packages[root], checksums) | {"type": "application"}
    rest = sorted((component(packages[id], checksums) for id in ids[1:]), key=lambda entry: entry["bom-ref"])
    edges = {reference(packages[id]): sorted({reference(packages[other]) for other in needs(nodes[id])}) for id in ids}
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program},
        "components": rest,
        "dependencies": [{"ref": ref, "dependsOn": edges[ref]} for ref in sorted(edges)],
    }
    print(json.dumps(bom, indent=1))


main()
