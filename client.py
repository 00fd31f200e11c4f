"""Run the command line of Tenure from a checkout: `python client.py --help`."""

from tenure.cli.main import leave, main

if __name__ == "__main__":
    leave(main())
