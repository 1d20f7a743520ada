"""The routes. They only read, and none of them makes a path of what it is asked for.

Data comes through TensorBoard's data provider, so both of its readers, remote log directories and `--path_prefix` work.
"""

import json
from collections.abc import Callable
from typing import Any

from tensorboard import plugin_util
from tensorboard.backend import http_util
from tensorboard.data import provider
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from feedwatch.report import html
from feedwatch.report.tensorboard import PLUGIN, REPORT_TAG
from feedwatch.tab import rank_groups
from feedwatch.tab.reports import Rows, report_in, tidy

Route = Callable[[wrappers.Request], wrappers.Response]


class FeedwatchPlugin(base_plugin.TBPlugin):  # type: ignore[misc]  # tensorboard has no types
    plugin_name = PLUGIN

    def __init__(self, context: Any) -> None:
        self._provider = context.data_provider
        self._rows = Rows()
        # Read once, so that a later change on disk changes nothing and no URL reaches the file system.
        self._script = html.script() + "export {start as render};\n"
        self._style = html.style_sheet()

    def is_active(self) -> bool:
        # TensorBoard itself shows the tab where a series with our plugin name exists.
        return False

    def frontend_metadata(self) -> Any:
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Feedwatch")

    def get_plugin_apps(self) -> dict[str, Any]:
        routes: dict[str, Route] = {
            "/index.js": lambda request: http_util.Respond(request, self._script, "text/javascript"),
            "/style.css": lambda request: http_util.Respond(request, self._style, "text/css"),
            "/summary": self._summary,
            "/report": self._report,
            "/rule": self._rule,
            "/compare": self._compare,
        }
        return {path: wrappers.Request.application(_only_get(route)) for path, route in routes.items()}

    def _summary(self, request: wrappers.Request) -> wrappers.Response:
        rows = [self._rows.of(run, datum) for run, datum in self._read(request, None).items()]
        return _json(request, {"runs": rank_groups.grouped(rows)})

    def _report(self, request: wrappers.Request) -> wrappers.Response:
        run = request.args.get("run", "")
        datum = self._read(request, [run]).get(run)
        if datum is None:
            return _error(request, "This run has no feedwatch report.", 404)
        report = tidy(report_in(datum))
        if rank_groups.one_of_many(report):
            report = rank_groups.with_ranks(run, report, self._siblings(request, run, report))
        return _json(request, {"run": run, "row": self._rows.of(run, datum), "report": report})

    def _compare(self, request: wrappers.Request) -> wrappers.Response:
        names = [request.args.get("before", ""), request.args.get("after", "")]
        found = self._read(request, names)
        if any(name not in found for name in names):
            return _error(request, "One of these runs has no feedwatch report.", 404)
        before, after = (tidy(report_in(found[name])) for name in names)
        return _json(request, html.comparison(before, after))

    def _siblings(self, request: wrappers.Request, run: str, report: dict[str, Any]) -> dict[str, dict[str, Any]]:
        rows = {other: self._rows.of(other, datum) for other, datum in self._read(request, None).items()}
        names = rank_groups.siblings_of(run, report, rows)
        return {name: tidy(report_in(datum)) for name, datum in self._read(request, names).items()}

    def _rule(self, request: wrappers.Request) -> wrappers.Response:
        code = request.args.get("code", "")
        page = html.rule_page(code)
        if page is None:
            return _error(request, "No rule has this code in the feedwatch that TensorBoard runs with.", 404)
        return _json(request, {"code": code, "page": page})

    def _read(self, request: wrappers.Request, runs: list[str] | None) -> dict[str, Any]:
        """The last snapshot of each run. TensorBoard's readers may leave out others, but never the last one."""
        tensors = self._provider.read_tensors(
            plugin_util.context(request.environ),
            experiment_id=plugin_util.experiment_id(request.environ),
            plugin_name=PLUGIN,
            downsample=1,
            run_tag_filter=provider.RunTagFilter(runs=runs, tags=[REPORT_TAG]),
        )
        series = {run: tags.get(REPORT_TAG) for run, tags in sorted(tensors.items())}
        return {run: data[-1] for run, data in series.items() if data}


def _only_get(route: Route) -> Route:
    def guarded(request: wrappers.Request) -> wrappers.Response:
        if request.method not in {"GET", "HEAD"}:
            return _error(request, "Feedwatch only reads.", 405)
        return route(request)

    return guarded


def _json(request: wrappers.Request, value: Any, code: int = 200) -> wrappers.Response:
    # Serialised here, because TensorBoard would walk the value twice and turn NaN into text.
    response: wrappers.Response = http_util.Respond(request, json.dumps(value), "application/json", code=code)
    return response


def _error(request: wrappers.Request, message: str, code: int) -> wrappers.Response:
    return _json(request, {"error": message}, code)
