"""What the tools do, read from the sources of the versions named; what ran here is in the measured tables."""

from typing import Final

TOOLS: Final = (
    "feedwatch",
    "TraceML 0.5",
    "xprof 2.24 (Profile tab)",
    "Keras' TensorBoard callback",
    "Lightning's own",
)

FEATURES: Final[tuple[tuple[str, ...], ...]] = (
    ("input wait of every step", "yes", "yes", "in a recorded window", "no", "sums at the end (SimpleProfiler)"),
    ("Keras on TensorFlow", "yes", "no", "in a window", "yes, without input wait", "–"),
    ("Keras on torch and JAX", "yes", "no", "JAX", "not its profiler on torch", "–"),
    ("Lightning", "yes", "yes; not compiled modules or spawned ranks", "no", "–", "yes"),
    ("plain PyTorch, Hugging Face Trainer", "yes", "yes", "–", "–", "–"),
    (
        "starvation by the device's clock, without a sync",
        "yes (emulated device only so far)",
        "yes (CUDA events)",
        "in a window",
        "no",
        "no; ThroughputMonitor synchronises at every batch",
    ),
    (
        "host-to-device copies",
        "time, bytes, GB/s, pinned or pageable, hidden share (from profiler windows)",
        "time of `Tensor.to`",
        "zero on NVIDIA in the versions tried",
        "no",
        "no",
    ),
    ("tf.data, stage by stage", "every window", "–", "in a window", "–", "–"),
    ("DataLoader workers: items, collate, idle", "yes", "no", "–", "–", "no"),
    ("forward, backward, optimizer apart", "no", "**yes**", "by op", "no", "**yes** (SimpleProfiler)"),
    (
        "operators and kernels",
        "no",
        "no",
        "**yes**, with a timeline",
        "records them for xprof",
        "**yes** (PyTorchProfiler)",
    ),
    ("memory of the device", "a share, from NVML", "**per step, with a check for growth**", "**yes**", "no", "peaks"),
    ("reads your pipeline's settings", "yes", "collects them, no rule uses them", "names only", "no", "worker count"),
    (
        "advice",
        "which lines to change, with your values",
        "one sentence per verdict",
        "a fixed list",
        "no",
        "a hint on workers",
    ),
    ("gain of a change", "range: predicted, or measured by `feedwatch try`", "no", "no", "no", "no"),
    ("two runs compared", "yes, with significance", "yes", "no", "by eye", "no"),
    ("exit code for CI", "yes", "yes (pilot)", "no", "no", "no"),
    ("in TensorBoard", "scalars, text, own tab", "no", "own tab", "scalars", "scalars"),
    ("HTML file", "yes", "yes", "no", "no", "no"),
    (
        "live view",
        "TensorBoard; one line (`progress=True`)",
        "**terminal and dashboard**",
        "no",
        "TensorBoard",
        "progress bar",
    ),
    ("several ranks", "yes, merged by the reader", "yes, aligned step by step", "hosts side by side", "no", "no"),
    ("without an edit of the script", "yes: `feedwatch run train.py`", "yes, own launcher", "no", "–", "–"),
    ("second process", "no", "yes (aggregator)", "no", "no", "no"),
    ("reports its own cost", "yes, in every report", "no", "no", "no", "no"),
    ("run on GPUs", "**not yet**", "yes", "yes", "yes", "yes"),
)

ALSO: Final = """\
- **torch-tb-profiler 0.4.3** read PyTorch traces in TensorBoard, with a DataLoader share and fixed tips; removed
  from its repository in 2026.
- **gpuprof 0.7** watches a training from outside and compares with earlier runs; it reads a value from the device at
  every batch.
- **LightlyTrain** logs the share of data time inside its own trainer.
- **SPDL** is another loader, with its own figures per stage. If your loader is the bottleneck, replacing it is a better
  answer than watching it.
- **Plumber** rewrites tf.data pipelines by itself; it needs its own TensorFlow."""

BETTER: Final = """\
- You want to know which *operator* or kernel is slow, or a timeline: xprof, PyTorchProfiler.
- You want forward, backward and optimizer apart, or memory growth, or a live view in the terminal: TraceML.
- You need something proven on GPUs today: the others have run there for years, feedwatch has not run on one yet.
- You only want a table at the end and no dependency: Lightning's SimpleProfiler."""
