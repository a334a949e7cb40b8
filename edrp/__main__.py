"""`python -m edrp` is the command `edrp`."""

from edrp.cli import main

if __name__ == "__main__":
    main()
