"""Writes docs/report-schema.json and docs/report-json.md from the report's own classes."""

import json
from pathlib import Path

from feedwatch.report.schema import field_tables, json_schema

DOCS = Path(__file__).resolve().parent.parent / "docs"
HEAD = """# report.json, field by field

`feedwatch report RUN --json` prints it, and the file lies in `<log_dir>/feedwatch/report.json`, always whole.
[report-schema.json](report-schema.json) is the same as a JSON Schema. All times are milliseconds and all shares 0 to 1
unless a name says otherwise. `null` is "not measured", never 0. Later versions may add fields; `schema` changes when
one goes or gets another meaning.

```console
$ feedwatch report runs/a --json | jq '.verdict.title, .findings[0].fix.after'
```

`feedwatch explain --all --json` prints a list of objects with `code`, `name` and `page` (Markdown): what each code in
`findings` means.

"""


def pages() -> dict[Path, str]:
    return {
        DOCS / "report-schema.json": json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n",
        DOCS / "report-json.md": HEAD + field_tables(),
    }


def main() -> None:
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
