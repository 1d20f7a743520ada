"""The plugin's routes without data. tests/tab/test_routes.py asks them through a whole TensorBoard."""

import json

import pytest
from tensorboard.plugins import base_plugin
from werkzeug.test import Client

from feedwatch import words
from feedwatch.advise.registry import RULES
from feedwatch.tab.plugin import FeedwatchPlugin

ROUTES = ("/index.js", "/style.css", "/summary", "/report", "/rule", "/compare")


@pytest.fixture
def apps():
    return FeedwatchPlugin(base_plugin.TBContext(data_provider=None)).get_plugin_apps()


def ask(app, path="/", method="GET"):
    return Client(app).open(path, method=method)


def test_these_are_the_routes(apps):
    assert set(apps) == set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_every_route_only_reads(apps, route, method):
    answer = ask(apps[route], method=method)
    assert answer.status_code == 405
    assert json.loads(answer.data) == {"error": "Feedwatch only reads."}


def test_the_script_is_one_module_and_carries_the_table_of_words(apps):
    answer = ask(apps["/index.js"])
    script = answer.data.decode()
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert script.endswith("export {start as render};\n")
    table = json.loads(script.split("const TABLE = ", 1)[1].split(";\n", 1)[0])
    assert table == json.loads(json.dumps(words.table()))


def test_the_style_is_served_as_such(apps):
    assert ask(apps["/style.css"]).headers["Content-Type"].startswith("text/css")


def test_a_rule_page_comes_from_the_package(apps):
    answer = json.loads(ask(apps["/rule"], f"/?code={RULES[0].code}").data)
    assert answer["page"].startswith("# ")


@pytest.mark.parametrize("code", ["FW999", "", "../../../etc/passwd"])
def test_a_code_that_no_rule_has_is_a_sentence(apps, code):
    answer = ask(apps["/rule"], f"/?code={code}")
    assert answer.status_code == 404
    assert "No rule has this code" in json.loads(answer.data)["error"]


def test_tensorboard_is_told_where_the_front_end_is():
    plugin = FeedwatchPlugin(base_plugin.TBContext(data_provider=None))
    assert plugin.plugin_name == "feedwatch"
    assert plugin.frontend_metadata().es_module_path == "/index.js"
    assert plugin.is_active() is False  # TensorBoard shows the tab where our series exists
