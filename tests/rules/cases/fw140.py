"""Cases for FW140."""

from tests.rules.build import case, loader, window

FIRES = {
    "a sampler in pure Python": case(window(100, 20), loader=loader(num_workers=4, load_ms=300.0, sampler_ms=15.0)),
    "without workers too": case(window(100, 40), loader=loader(num_workers=0, load_ms=40.0, sampler_ms=15.0)),
}
SILENT = {
    "a quick one": case(window(100, 20), loader=loader(num_workers=4, load_ms=300.0, sampler_ms=0.2)),
    "healthy": case(window(100, 0.5), loader=loader(num_workers=2, load_ms=40.0, sampler_ms=0.2)),
}
UNKNOWN = {
    "not measured": case(window(100, 20), loader=loader(num_workers=4, load_ms=300.0, sampler_ms=None)),
    "no steps": case(None, loader=loader(sampler_ms=15.0)),
}
