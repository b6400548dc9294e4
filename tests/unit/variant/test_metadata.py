"""The dictionary of field names: what is read, and what is refused."""

from __future__ import annotations

import pytest

from varquet.errors import InvalidVariantError
from varquet.variant.metadata import Metadata, metadata_size


def _hex(text: str) -> bytes:
    return bytes.fromhex(text)


def test_the_empty_dictionary() -> None:
    names = Metadata(_hex("01 00 00"))
    assert len(names) == 0
    assert names.find("") == ()
    names.check()


@pytest.mark.parametrize(
    "data",
    [
        "01 02 00 01 03 61 6262",
        "21 02 00 01 03 61 6262",  # the reserved bit
        "41 0200 0000 0100 0300 61 6262",
        "81 020000 000000 010000 030000 61 6262",
        "c1 02000000 00000000 01000000 03000000 61 6262",
    ],
)
def test_every_offset_size_and_the_reserved_bit(data: str) -> None:
    names = Metadata(_hex(data))
    assert [names.name(i) for i in range(len(names))] == ["a", "bb"]
    assert names.find("bb") == (1,)
    assert not names.sorted_strings
    assert metadata_size(_hex(data) + b"rest") == len(_hex(data))


def test_names_that_occur_twice_have_several_ids() -> None:
    names = Metadata(_hex("01 03 00 01 02 03 62 61 62"))
    assert names.find("b") == (0, 2)
    assert names.find("a") == (1,)
    names.check()


def test_empty_and_long_names() -> None:
    long = "é" * 200
    data = bytes((0x51, 2, 0, 0, 0, 0, 0)) + len(long.encode()).to_bytes(2, "little") + long.encode()
    names = Metadata(data)
    assert names.sorted_strings
    assert names.find("") == (0,)
    assert names.name(1) == long


def test_a_false_claim_to_be_sorted_is_not_relied_upon() -> None:
    names = Metadata(_hex("11 02 00 01 02 62 61"))
    names.check()
    assert names.find("a") == (1,)


def test_a_lone_surrogate_is_the_name_of_nothing() -> None:
    assert Metadata(_hex("01 01 00 03 eda080")).find("\ud800") == ()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "expected a metadata header, got no bytes - at byte 0. Hint: the empty dictionary is 01 00 00"),
        ("00 00 00", "expected metadata of version 1, got version 0 - at byte 0"),
        ("02 00 00", "expected metadata of version 1, got version 2 - at byte 0"),
        ("01", "expected 1 byte of dictionary_size in the metadata, got 0 - at byte 1"),
        ("c1 0000", "expected 4 bytes of dictionary_size in the metadata, got 2 - at byte 1"),
        ("01 00", "expected 1 byte of offsets for 0 names in the metadata, got 0 - at byte 2"),
        ("01 02 00 01", "expected 3 bytes of offsets for 2 names in the metadata, got 2 - at byte 2"),
        ("c1 ffffffff 00000000", "expected 17179869184 bytes of offsets for 4294967295 names in the metadata, got 4 - at byte 5"),
        ("01 01 00 02 61", "expected 2 bytes of field names in the metadata, got 1 - at byte 4"),
        ("01 00 00 61", "expected the metadata to end after 3 bytes, got 4 - at byte 3"),
        ("01 01 01 01 61", "expected 0 as the first offset of the metadata, got 1 - at byte 2"),
        ("01 02 00 02 01 61", "expected ascending offsets in the metadata, got 1 after 2 - at byte 4"),
        ("01 02 00 01 02 61 ff", "expected field name 1 of the metadata in UTF-8, got byte 0xff - at byte 6"),
        ("01 01 00 03 eda080", "expected field name 0 of the metadata in UTF-8, got byte 0xed - at byte 4"),
    ],
)
def test_damage_is_named_with_its_place(data: str, message: str) -> None:
    with pytest.raises(InvalidVariantError) as caught:
        Metadata(_hex(data)).check()
    assert str(caught.value) == message


def test_an_id_beyond_the_dictionary() -> None:
    with pytest.raises(InvalidVariantError, match="expected a field id below 1, the size of the dictionary, got 1 - at byte 9"):
        Metadata(_hex("01 01 00 01 61")).name(1, offset=9)


def test_only_what_is_asked_for_is_read() -> None:
    names = Metadata(_hex("01 02 00 01 02 61 ff"))
    assert names.name(0) == "a"
    assert names.find("a") == (0,)
    with pytest.raises(InvalidVariantError):
        names.name(1)
    with pytest.raises(InvalidVariantError):
        names.check()


def test_many_equal_names_take_linear_time() -> None:
    count = 50_000
    names = Metadata(bytes((0xC1,)) + count.to_bytes(4, "little") + bytes(4 * (count + 1)))
    assert len(names.find("")) == count
