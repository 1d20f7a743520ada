"""Runs inside xprof's environment: what its input-pipeline analyser says about each trace."""

import json
import sys
from pathlib import Path
from typing import Any

from xprof.convert import raw_to_tool_data


def analyse(trace: str) -> dict[str, Any]:
    data, _ = raw_to_tool_data.xspace_to_tool_data([trace], "input_pipeline_analyzer", {})
    tables = [table for table in json.loads(data) if table.get("cols")]
    steps = next(table for table in tables if table["cols"][0]["id"] == "stepnum")
    stages = next(table for table in tables if table["cols"][0]["id"] == "opName")
    rows = [[cell["v"] for cell in row["c"]] for row in stages["rows"]]
    root = max(rows, key=lambda row: row[2], default=None)
    return {
        "steps": len(steps["rows"]),
        "input_ms": float(steps["p"]["infeed_time_ms_avg"]) if steps["rows"] else None,
        "concludes": steps["p"]["input_conclusion"],
        # Total time of the outermost stage: what the pipeline worked per batch, waited for or not.
        "pipeline_ms": round(root[2] / root[1], 4) if root else None,
    }


def attempt(trace: str) -> dict[str, Any]:
    try:
        return analyse(trace)
    except Exception as error:  # the tool's own failure is the result
        return {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}


def main() -> None:
    Path(sys.argv[1]).write_text(json.dumps({trace: attempt(trace) for trace in sys.argv[2:]}))


if __name__ == "__main__":
    main()
