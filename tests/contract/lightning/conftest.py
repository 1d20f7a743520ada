"""Both import names of Lightning, imported before ours, so that the callback belongs to both."""

import logging
import warnings

import pytest

pytest.importorskip("lightning")
pytest.importorskip("pytorch_lightning")

import lightning.pytorch
import pytorch_lightning

FLAVOURS = {"lightning": lightning.pytorch, "pytorch_lightning": pytorch_lightning}

for name in ("lightning.pytorch", "pytorch_lightning", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


@pytest.fixture(params=list(FLAVOURS))
def pl(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield FLAVOURS[request.param]
