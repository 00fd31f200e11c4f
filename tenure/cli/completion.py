"""Print the script that lets a shell complete command lines: `completion`."""

from argparse import Namespace

import argcomplete

from tenure.cli.terminal import print_text
from tenure.settings import Settings


def print_completion(arguments: Namespace, settings: Settings) -> int:
    """Run `completion`."""
    print_text(argcomplete.shellcode(["tenure"], shell=arguments.shell) + "\n")
    return 0
