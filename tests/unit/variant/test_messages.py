"""Places and sizes in error messages stay short."""

from __future__ import annotations

from varquet.variant.messages import byte_count, place


def test_places() -> None:
    assert place([]) == "$"
    assert place(["a'b", 0, ""]) == "$['a\\'b'][0]['']"
    assert place(["x" * 41]) == f"$['{'x' * 40}…']"
    assert place(list(range(12))) == "$" + "".join(f"[{i}]" for i in range(12))
    assert place(list(range(13))) == "$[0][1][2][3][4][5]…[7][8][9][10][11][12]"


def test_sizes() -> None:
    assert [byte_count(n) for n in (0, 1, 2)] == ["0 bytes", "1 byte", "2 bytes"]
