"""Print the script that lets a shell complete command lines: `completion`."""

from argcomplete.shell_integration import shellcode

from tenure.cli.terminal import print_text


def print_completion(shell: str) -> None:
    """Run `completion`."""
    print_text(shellcode(["tenure"], shell=shell) + "\n")
