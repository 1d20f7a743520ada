"""Errors that reach a user: at construction, or on the command line. Nothing here is raised into training."""


class FeedwatchError(Exception):
    """Base of all errors of ours; its text is one clear line."""


class SettingError(FeedwatchError, ValueError):
    """A setting is wrong; the text names it."""


class ReportError(FeedwatchError):
    """A report cannot be read."""


class TraceError(FeedwatchError):
    """A profiler trace cannot be read."""
