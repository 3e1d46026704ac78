"""``python -m kgtable``."""

from kgtable.cli.main import main

if __name__ == "__main__":
    main(prog_name="kgtable")
