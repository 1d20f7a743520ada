"""Cases for FW206."""

from tests.rules.build import DeviceFacts, case, cuda, loader, transfers, window

FAST = loader(load_ms=20.0, num_workers=4, pin_memory=True)
SLOT = DeviceFacts(
    pcie_generation=3, pcie_width=4, pcie_max_generation=4, pcie_max_width=16, link_gb_per_s=3.9, max_link_gb_per_s=31.5
)
# 20 MB in 10 ms: 2 GB/s.
SLOW = transfers(kind="pinned")

FIRES = {
    "four lanes instead of sixteen": case(window(50, 0.1), loader=FAST, of=cuda(), device=SLOT, transfers=SLOW),
    "for no visible reason": case(
        window(50, 0.1), loader=FAST, of=cuda(), device=DeviceFacts(max_link_gb_per_s=12.6), transfers=SLOW
    ),
}
SILENT = {
    "as fast as the link": case(
        window(50, 0.1), loader=FAST, of=cuda(), device=DeviceFacts(max_link_gb_per_s=2.5), transfers=SLOW
    ),
    "pageable copies are slow anyway": case(
        window(50, 0.1), loader=FAST, of=cuda(), device=SLOT, transfers=transfers()
    ),
}
UNKNOWN = {
    "ceiling of the link unknown": case(window(50, 0.1), loader=FAST, of=cuda(), device=DeviceFacts(), transfers=SLOW),
    "no NVML": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=SLOW),
}
