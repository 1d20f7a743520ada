import dataclasses


def assert_frozen(*kinds):
    """No attribute can be set, and none can be added."""
    assert kinds
    for kind in kinds:
        assert dataclasses.is_dataclass(kind), kind
        assert kind.__dataclass_params__.frozen, kind
        assert "__slots__" in vars(kind), kind
