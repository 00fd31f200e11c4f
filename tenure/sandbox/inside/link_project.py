"""Make a Python project importable from where its files are, without building it: `link_project.py JSON`.

The JSON object has the name and version of the project, and its scripts by name. The environment gets a path file, the
metadata that programs ask for, and a start script for each program. The packages of the sandbox stay importable.
"""

import json
import os
import sys
import sysconfig

WORKSPACE = "/workspace"
ENVIRONMENT = "/environment"


def find_source_folders() -> list[str]:
    """Return the folders from which the packages of the project are imported."""
    found = [name for name in ("src", "lib") if os.path.isdir(f"{WORKSPACE}/{name}")]
    return [*(f"{WORKSPACE}/{name}" for name in found), WORKSPACE]


def write(path: str, text: str, mode: int = 0o644) -> None:
    """Write a file and the folders above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as target:
        target.write(text)
    os.chmod(path, mode)


def main() -> None:
    """Link the project."""
    facts = json.loads(sys.argv[1])
    site = f"{ENVIRONMENT}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    packages = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    write(f"{site}/tenure-project.pth", "\n".join(dict.fromkeys([*find_source_folders(), *packages])) + "\n")
    if facts["name"]:
        folder = f"{site}/{facts['name'].replace('-', '_')}-{facts['version']}.dist-info"
        write(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {facts['name']}\nVersion: {facts['version']}\n")
        points = "".join(
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
            for group, entries in facts["entry_points"].items()
        )
        write(f"{folder}/entry_points.txt", points)
    for name, target in {"pytest": "pytest:console_main", **facts["entry_points"].get("console_scripts", {})}.items():
        module, _, function = target.partition(":")
        code = f"import sys; from {module} import {function.split('.')[0]}; sys.exit({function}())"
        if "/" not in name:
            write(f"{ENVIRONMENT}/bin/{name}", f"#!{ENVIRONMENT}/bin/python\n{code}\n", 0o755)


if __name__ == "__main__":
    main()
