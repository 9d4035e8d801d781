"""Slurm's host lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnp.node.identity.hostlist import expand

WORDS = st.from_regex(r"[a-z][a-z0-9.-]{0,5}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu1", ["gpu1"]),
        ("gpu[01-03,7],login1", ["gpu01", "gpu02", "gpu03", "gpu7", "login1"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
        ("r[1-2]n[1-2].example", ["r1n1.example", "r1n2.example", "r2n1.example", "r2n2.example"]),
        ("[1-2]x", ["1x", "2x"]),
    ],
)
def test_names_come_in_slurms_order(text: str, names: list[str]) -> None:
    """Ranges, leading zeros, several brackets and several names, as `scontrol show hostnames` lists them."""
    assert expand(text, most=100) == names


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no host name"),
        ("a,,b", "no host name at ',b'"),
        ("a,", "no host name"),
        ("a[1", "no comma before"),
        ("a]", "no comma before"),
        ("a[[1]]", "no comma before"),
        ("a b", "no comma before"),
        ("a[]", "'' is neither a number nor a range"),
        ("a[1-]", "'1-' is neither"),
        ("a[x]", "'x' is neither"),
        ("a[-1]", "'-1' is neither"),
        ("a[2-1]", "runs backwards"),
        ("a[1-999999999999]", "more names than a job has nodes"),
        ("a[1-100]b[1-100]c[1-100]d[1-100]", "more names"),
        ("a[1-60],b[1-60]", "more names"),
    ],
)
def test_what_is_no_list_is_refused_with_the_reason(text: str, reason: str) -> None:
    """Text that Slurm does not write is refused, and so is a list that would fill the memory."""
    with pytest.raises(ValueError, match=r".") as raised:
        expand(text, most=100)
    assert reason in str(raised.value)


@st.composite
def lists(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A host list and its names, made side by side."""
    texts, names = [], []
    for _ in range(draw(st.integers(1, 3))):
        prefix, suffix = draw(WORDS), draw(st.sampled_from(["", "-ib", ".example"]))
        items, numbers = [], []
        for _ in range(draw(st.integers(1, 3))):
            first, width = draw(st.integers(0, 120)), draw(st.integers(1, 4))
            last = first + draw(st.integers(0, 12))
            items.append(f"{first:0{width}}" if first == last else f"{first:0{width}}-{last}")
            numbers += [f"{n:0{width}}" for n in range(first, last + 1)]
        texts.append(f"{prefix}[{','.join(items)}]{suffix}")
        names += [f"{prefix}{n}{suffix}" for n in numbers]
    return ",".join(texts), names


@given(lists())
def test_any_list_becomes_its_names(made: tuple[str, list[str]]) -> None:
    """Whatever is folded into a list comes out of it again, in order."""
    text, names = made
    assert expand(text, most=1000) == names


@given(st.text(alphabet="ab01,-[] ", max_size=30))
def test_any_other_text_is_read_or_refused(text: str) -> None:
    """No text breaks the parser, and no name that comes out holds what separates names."""
    try:
        names = expand(text, most=1000)
    except ValueError:
        return
    assert 0 < len(names) <= 1000
    assert not set(",[] ") & set("".join(names))
