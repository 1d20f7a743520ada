"""Nothing of ours sends a batch that is on the device back to the host. Logical devices stand for a GPU."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_counting_samples_does_not_send_the_batch_back_to_the_host():
    environment = {**os.environ, "FEEDWATCH_STRICT": "1", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.keras.run_placement"],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert said == ["RESULT uncounted []", "RESULT counted []", "RESULT size 16"]
