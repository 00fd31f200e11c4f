"""Print the script that lets a shell complete command lines: `completion`."""

from argparse import Namespace

from argcomplete.shell_integration import shellcode

from tenure.cli.terminal import print_text
from tenure.settings.group import SettingsGroup


def print_completion(arguments: Namespace, settings: SettingsGroup) -> int:
    """Run `completion`."""
    print_text(shellcode(["tenure"], shell=arguments.shell) + "\n")
    return 0
