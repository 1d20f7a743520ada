"""Runs a command and shows what it printed only when it fails: `python tools/quiet.py pip install …`

pip warns about every index that does not answer and every tool that is not on the PATH. Dozens of such lines above the
demo would hide what the demo has to say.
"""

import subprocess
import sys


def main(command: list[str]) -> int:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)  # noqa: S603
    if done.returncode:
        sys.stderr.buffer.write(done.stdout)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
