"""FW311: a large part of the run is validation."""

import math
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import PAUSE_PER_EPOCH
from feedwatch.model.account import VALIDATION, Account
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

# Below this share of the run validation is what people choose to pay: a tenth of the data, after every epoch.
LARGE_SHARE: Final = 0.2
# Validation every so many epochs; the rarest that a person would still call validating.
STRIDES: Final = (2, 3, 5, 10)
# After the change validation takes no more than this of the run.
FINE_SHARE: Final = 0.1
# Starting validation and its loaders has a price that is partly in other accounts.
LEAST_REMOVED: Final = 0.9

# Several times in an epoch is more often than most people mean to.
WITHIN_AN_EPOCH: Final = 2.0

ONCE: Final = ("trainer = Trainer(..., val_check_interval=...)", "trainer = Trainer(..., val_check_interval=1.0)")
KERAS: Final = ("model.fit(...)", "model.fit(..., validation_freq={n})")
LIGHTNING: Final = ("trainer = Trainer(...)", "trainer = Trainer(..., check_val_every_n_epoch={n})")

PAGE: Final = """
## What it sees
A run of several epochs of which validation takes a fifth or more.

## Why it costs
Training stands still while the model is validated. On small training sets, or with a large validation set, that is as
long as training itself.

## Fix
Validate less often: `val_check_interval=1.0` or `check_val_every_n_epoch` in Lightning's Trainer, `validation_freq` in
Keras' `fit`. Or validate on a part of the data: `limit_val_batches`, `validation_steps`. The weights do not depend on
it.

## When to leave it
When early stopping, the learning rate or the choice of the checkpoint follows the validation of every epoch.

## References
- https://lightning.ai/docs/pytorch/stable/common/trainer.html#check-val-every-n-epoch
- https://keras.io/api/models/model_training_apis/
"""


@rule(
    PAGE,
    knob="validation",
    relieves=Bound.HOST,
    symptoms=(PAUSE_PER_EPOCH,),
    edit_lines=1,
    needs=(),
)
def RULE(case: Case) -> Found | None:
    account, framework = case.account, case.facts.run.framework
    share = None if account is None else account.share(VALIDATION)
    if account is None or share is None or share < LARGE_SHARE or framework not in ("keras", "lightning"):
        return None
    validation_ms, often = account.ms(VALIDATION) or 0.0, case.facts.run.validations_per_epoch or 1.0
    within = often >= WITHIN_AN_EPOCH
    stride = math.floor(often) if within else _stride(share, account)
    if stride is None:
        return None
    before, after = ONCE if within else KERAS if framework == "keras" else LIGHTNING
    rarely = "once in an epoch" if within else f"every {stride} epochs"
    most_ms = validation_ms * (1 - 1 / stride)
    because = (
        f"validation {rarely} takes {ms(validation_ms / stride)} instead of {ms(validation_ms)} of the "
        f"{ms(account.batch_ms)} per batch"
    )
    return Found(
        title=f"Validate less often: {rarely}",
        says=(
            f"Validation takes {percent(share)} of the run: {ms(validation_ms)} of the {ms(account.batch_ms)} per "
            "trained batch. Training stands still meanwhile."
        ),
        numbers={
            "validation_share": share,
            "validation_ms": validation_ms,
            "batch_ms": account.batch_ms,
            "every_n_epochs": 1.0 if within else float(stride),
        },
        before=before,
        after=after.format(n=stride),
        gain=removed(account, most_ms, LEAST_REMOVED * most_ms, because),
    )


def _stride(share: float, account: Account) -> int | None:
    """As rarely as makes validation a small part, but at least once in the run as long as it is."""
    fitting = [one for one in STRIDES if one <= account.epochs]
    fine = (one for one in fitting if share / one <= FINE_SHARE * (1 - share + share / one))
    return next(fine, fitting[-1] if fitting else None)
