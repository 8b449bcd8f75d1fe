"""`python -m sfumato` is the program `sfumato`."""

from sfumato.cli.program import main

if __name__ == "__main__":
    main()
