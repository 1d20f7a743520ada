"""What people notice first."""

from feedwatch.advise import symptoms
from feedwatch.advise.registry import RULES


def test_every_symptom_is_explained_by_a_rule_and_every_rule_uses_the_shared_words():
    words = {text for name, text in vars(symptoms).items() if name.isupper()}
    assert words == {symptom for one in RULES for symptom in one.symptoms}
