"""The class that TensorBoard loads.

TensorBoard does not guard the import of an entry point: an error here would stop every `tensorboard`
command of the user. So this module imports nothing but `base_plugin`; everything else waits for `load`.
"""

import logging
from typing import Any

from tensorboard.plugins import base_plugin

log = logging.getLogger(__name__)


class FeedwatchLoader(base_plugin.TBLoader):  # type: ignore[misc]  # tensorboard has no types
    def load(self, context: Any) -> Any:
        try:
            from feedwatch.tab.plugin import FeedwatchPlugin

            return FeedwatchPlugin(context)
        except Exception:
            # None makes TensorBoard go on without the tab. `feedwatch doctor` shows the cause.
            log.warning("feedwatch: the tab could not be loaded", exc_info=True)
            return None
