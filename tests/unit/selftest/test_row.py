from feedwatch.selftest.row import Row


def test_a_row_says_truth_what_was_said_and_whether_they_agree():
    assert Row("1 ms", "2 ms", agree=False)._asdict() == {"truth": "1 ms", "said": "2 ms", "agree": False}
