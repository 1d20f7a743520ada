from feedwatch.trial.variant import Variant, shown


def test_a_variant_says_what_it_changes():
    assert shown({"num_workers": 4, "pin_memory": True}) == "num_workers=4, pin_memory=True"


def test_warm_up_is_what_workers_have_ready_and_a_round_more():
    assert Variant("v", lanes=3, ahead=2).warm_up == 9
    assert Variant("v").warm_up == 1
    assert Variant("v", lanes=3, ahead=2).made_ahead == 6
