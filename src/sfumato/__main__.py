"""`python -m sfumato` is the program `sfumato`.

Python looks for modules in the working folder first then, where anybody may have put a `yaml.py`; from here
on it does not. What it has loaded until now may be from there: `python -P -m sfumato` prevents that, too.
"""

import os
import sys


def _forget_working_folder() -> None:
    try:
        if not sys.flags.safe_path and sys.path[0] == os.getcwd():  # noqa: PTH109  # pathlib is not loaded yet
            del sys.path[0]
    except OSError:  # the folder is gone, and nothing can be in it
        return


if __name__ == "__main__":
    _forget_working_folder()
    from sfumato.cli.program import main

    main()
