import pytest

from portal.verification.codes import DENIALS, EXPLANATIONS, OURS, Code, explain


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_sentence_and_a_remedy_of_its_own(code: Code) -> None:
    found = explain(code.value)
    others = [other for other in EXPLANATIONS.values() if other.code != code]
    for text in (str(found.sentence), str(found.remedy)):
        assert text.endswith(".") and len(text) > 15
    assert str(found.sentence) not in {str(other.sentence) for other in others}
    assert str(found.remedy) not in {str(other.remedy) for other in others}


def test_no_code_is_two_kinds_at_once() -> None:
    assert not DENIALS & OURS and Code.OK not in DENIALS | OURS


def test_a_code_that_is_none() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        explain("nonsense")
