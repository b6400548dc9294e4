"""`Variant`: access, equality, text, and that it reads no more than it is asked for."""

from __future__ import annotations

import copy
import gc
import pickle
from decimal import Decimal

import numpy as np
import pytest

from varquet.errors import InvalidVariantError, JsonError, PathError, UnsupportedTypeError
from varquet.paths import Path
from varquet.types import PRIMITIVES
from varquet.variant import Scalar, Timestamp, Variant, encode

EMPTY = b"\x01\x00\x00"
NAMES = bytes.fromhex("01 02 00 01 02 61 62")  # a, b
SAMPLE = '{"user":{"name":"Ada","tags":["x","y"]},"n":1,"none":null,"a.b":2,"":3}'


@pytest.fixture
def v() -> Variant:
    return Variant.from_json(SAMPLE)


def test_fields_and_elements(v: Variant) -> None:
    assert v["user"]["name"].to_python() == "Ada"
    assert v["user"]["tags"][0].to_python() == "x"
    assert v["user"]["tags"][-1].to_python() == "y"
    assert v["user"]["tags"][np.int64(1)].to_python() == "y"
    assert v["a.b"].to_python() == 2
    assert v[""].to_python() == 3
    with pytest.raises(KeyError, match="nope"):
        v["nope"]
    with pytest.raises(KeyError):
        v["$.user"]
    with pytest.raises(KeyError):
        v["\ud800"]
    with pytest.raises(IndexError, match="index 2 is out of range for an array of 2"):
        v["user"]["tags"][2]
    with pytest.raises(IndexError):
        v["user"]["tags"][-3]
    with pytest.raises(UnsupportedTypeError, match="expected an object, got array"):
        v["user"]["tags"]["x"]
    with pytest.raises(UnsupportedTypeError, match="expected an array, got object"):
        v[0]
    with pytest.raises(UnsupportedTypeError, match="expected an object, got int8"):
        v["n"]["x"]
    with pytest.raises(UnsupportedTypeError, match="expected a field name or an index, got slice"):
        v["user"]["tags"][0:1]  # type: ignore[index]


def test_paths(v: Variant) -> None:
    found = v.get("$.user.tags[1]")
    assert found is not None and found.to_python() == "y"
    assert v.get("$['a.b']") == Variant.from_python(2)
    assert v.get(Path(("user", "tags", -2))) == Variant.from_python("x")
    assert v.get("$") == v
    assert v.get("$.none") == Variant.from_python(None)
    for missing in ("$.nope", "$.user.tags[2]", "$.user.tags[-3]", "$.user[0]", "$.user.tags.x", "$.n.x", "$.none.x", "$[0]"):
        assert v.get(missing) is None
        assert v.get(missing, 5) == 5
    with pytest.raises(PathError):
        v.get("user")


def test_iteration_and_size(v: Variant) -> None:
    assert v.keys() == ["", "a.b", "n", "none", "user"]
    assert list(v) == v.keys()
    assert [(name, part.to_python()) for name, part in v.items()][:2] == [("", 3), ("a.b", 2)]
    assert [part.to_python() for part in v.values()][:2] == [3, 2]
    assert [part.to_python() for part in v["user"]["tags"]] == ["x", "y"]  # type: ignore[union-attr]
    assert (len(v), len(v["user"]["tags"]), len(Variant.from_json("{}"))) == (5, 2, 0)
    for part in (v["n"], v["none"]):
        for question in (len, iter, list, lambda p: 1 in p):
            with pytest.raises(UnsupportedTypeError, match="expected an object or array, got"):
                question(part)
    with pytest.raises(UnsupportedTypeError, match="expected an object, got array"):
        v["user"]["tags"].keys()


def test_membership(v: Variant) -> None:
    assert "user" in v and "" in v
    assert "nope" not in v and 1 not in v
    tags = v["user"]["tags"]
    assert "x" in tags and Variant.from_python("y") in tags
    assert "z" not in tags and None not in tags
    assert 1 in Variant.from_json("[1.00]")


def test_truth_is_not_guessed(v: Variant) -> None:
    with pytest.raises(UnsupportedTypeError, match="the truth of a Variant. Hint: use is_null"):
        bool(v["none"])


def test_types() -> None:
    cases = {"{}": "object", "[]": "array", "null": "null", "true": "boolean", "false": "boolean", "1": "int8", "1.5": "decimal4"}
    for text, name in cases.items():
        assert Variant.from_json(text).type_name == name
        assert Variant.from_json(text).is_null == (name == "null")
    assert Variant.from_json('"x"').type_name == Variant.from_json(f'"{"x" * 70}"').type_name == "string"
    for kind in PRIMITIVES:
        variant = Variant(EMPTY, bytes((kind.tag << 2,)))
        assert variant.type_name == ("boolean" if kind.name in ("true", "false") else kind.name)


def test_parts_share_the_metadata(v: Variant) -> None:
    part = v["user"]["tags"]
    assert part.metadata is v["user"].metadata
    assert part.metadata == v.metadata
    assert part.value in v.value
    assert Variant(part.metadata, part.value) == part
    assert Variant(part.metadata, part.value).to_json() == '["x","y"]'
    name = v["user"]["name"]
    del v
    gc.collect()
    assert name.to_python() == "Ada"


def test_a_field_beside_a_broken_one() -> None:
    value = bytes.fromhex("02 02 00 01 00 02 03 0c07 fc")
    v = Variant(NAMES, value)
    assert v["a"].to_python() == 7
    assert v.get("$.a") == Variant.from_python(7)
    assert v.keys() == ["a", "b"]
    broken = v["b"]
    for touch in (lambda: broken.type_name, lambda: broken.value, broken.to_python, lambda: broken == v, lambda: hash(broken), v.to_json):
        with pytest.raises(InvalidVariantError, match="got 63"):
            touch()
    assert repr(v) == 'Variant({"a":7,"b":<invalid: expected a primitive type tag of 0 to 20, got 63>})'


def test_a_field_beside_one_without_a_name() -> None:
    v = Variant(NAMES, bytes.fromhex("02 02 00 09 00 02 04 0c07 0c08"))
    assert v["a"].to_python() == 7
    assert "b" not in v
    with pytest.raises(InvalidVariantError, match="expected a field id below 2"):
        v.keys()


def test_damaged_names_are_no_hindrance_to_others() -> None:
    v = Variant(bytes.fromhex("01 02 00 01 02 61 ff"), bytes.fromhex("02 02 00 01 00 02 04 0c07 0c08"))
    assert v["a"].to_python() == 7
    with pytest.raises(InvalidVariantError, match="UTF-8"):
        v.to_python()


def test_an_element_beside_a_broken_one() -> None:
    v = Variant(EMPTY, bytes.fromhex("03 03 00 01 03 04 fc 0c07 0c"))
    assert [part.type_name for part in list(v)[1:2]] == ["int8"]  # type: ignore[union-attr]
    assert v[1].to_python() == 7
    with pytest.raises(InvalidVariantError):
        v[0].to_python()


def test_fields_are_found_in_any_order() -> None:
    """Spark has sorted names by UTF-16, DuckDB not at all."""
    names = ["\U0001f600", "\ue000", *map(str, range(40))]
    metadata = bytes((0x41, len(names), 0)) + b"".join(
        sum(len(name.encode()) for name in names[:i]).to_bytes(2, "little") for i in range(len(names) + 1)
    )
    v = Variant(
        metadata + "".join(names).encode(),
        bytes((2, len(names), *range(len(names)), *range(0, 2 * len(names) + 2, 2))) + b"".join(bytes((12, i)) for i in range(len(names))),
    )
    for i, name in enumerate(names):
        assert v[name].to_python() == i


def test_a_duplicate_name_is_refused() -> None:
    v = Variant(bytes.fromhex("01 02 00 01 02 61 61"), bytes.fromhex("02 02 00 01 00 01 02 00 00"))
    for touch in (lambda: v["a"], lambda: v.get("$.a"), v.keys, v.to_python):
        with pytest.raises(InvalidVariantError, match="got 'a' twice"):
            touch()


def test_trailing_bytes_are_refused_at_the_top_only() -> None:
    with pytest.raises(InvalidVariantError, match="expected the value to end after 1 byte, got 2"):
        Variant(EMPTY, b"\x00\x00").to_python()
    gap = Variant(EMPTY, bytes.fromhex("03 01 00 03 0c07ff"))
    assert gap.to_python() == [7]
    assert gap[0].value == b"\x0c\x07"


def test_equality_and_hash() -> None:
    left, right = Variant.from_json('{"a": 1, "b": [1.50]}'), Variant.from_python({"b": [Decimal("1.5")], "a": 1})
    assert left == right
    assert left.value != right.value
    assert hash(left) == hash(right)
    assert len({left, right, left["a"], Variant.from_python(1)}) == 2
    assert left != Variant.from_json('{"a": 1}')
    assert left != {"a": 1, "b": [1.5]}
    assert Variant.from_python(1.0) != Variant.from_python(1)


def test_copies_and_pickles(v: Variant) -> None:
    assert copy.copy(v) is v and copy.deepcopy(v) is v
    part = v["user"]
    again = pickle.loads(pickle.dumps(part))
    assert again == part and again.value == part.value
    assert again["name"].to_python() == "Ada"


def test_it_is_immutable(v: Variant) -> None:
    for name in ("metadata", "value", "type_name", "other"):
        with pytest.raises(AttributeError):
            setattr(v, name, b"")
    with pytest.raises(TypeError):
        v["user"] = 1  # type: ignore[index]
    data = bytearray(b"\x0c\x07")
    seven = Variant(bytearray(EMPTY), data)  # type: ignore[arg-type]
    data[1] = 8
    assert seven.to_python() == 7
    assert type(seven.value) is type(seven.metadata) is bytes


def test_only_bytes_make_a_variant() -> None:
    with pytest.raises(UnsupportedTypeError, match="expected bytes as value, got str. Hint: Variant.from_python"):
        Variant(EMPTY, "x")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedTypeError, match="expected bytes as metadata, got NoneType"):
        Variant(None, b"\x00")  # type: ignore[arg-type]


def test_json_and_python() -> None:
    text = '{"d":1.10,"e":1.5e0,"s":"é\\n","t":[true,null]}'
    v = Variant.from_json(text)
    assert v.to_json() == text
    assert v.to_python() == {"d": Decimal("1.10"), "e": 1.5, "s": "é\n", "t": [True, None]}
    assert Variant.from_python(v) == v
    assert Variant.from_json('{"a":1,"a":2}', duplicate_keys="last").to_json() == '{"a":2}'
    assert Variant.from_python(Timestamp(1, "ns", False)).to_json() == '"1970-01-01T00:00:00.000000001"'
    with pytest.raises(JsonError):
        Variant.from_json("{")


def test_repr() -> None:
    assert repr(Variant.from_json('{"b": "x", "a": 1}')) == 'Variant({"a":1,"b":"x"})'
    assert repr(Variant.from_json("[1.10, null, [], {}]")) == "Variant([1.10,null,[],{}])"
    long = repr(Variant.from_json("[" + "1," * 10_000 + "1]"))
    assert long.startswith("Variant([1,1,") and long.endswith("…)") and len(long) == 210
    assert repr(Variant.from_json("[" * 100_000 + "]" * 100_000)).endswith("[[[…)")


@pytest.mark.parametrize(
    ("metadata", "value", "text"),
    [
        (EMPTY, b"", "Variant(<invalid: expected a value, got no bytes>)"),
        (b"", b"\x00", "Variant(null)"),
        (b"", bytes.fromhex("02 01 00 00 01 00"), "Variant({<invalid: expected a metadata header, got no bytes>})"),
        (EMPTY, b"\x44" + b"\xff" * 8, "Variant(<invalid: expected a time within one day, got -1 microseconds after midnight>)"),
        (EMPTY, b"\x03\xff", "Variant(<invalid: expected 256 bytes of ids and offsets of the array of 255, got 0>)"),
    ],
)
def test_repr_never_raises(metadata: bytes, value: bytes, text: str) -> None:
    assert repr(Variant(metadata, value)) == text


def test_repr_reads_no_more_than_it_shows() -> None:
    shared = bytes.fromhex("00")
    for _ in range(40):
        shared = bytes((3 | 4, 2)) + b"".join(n.to_bytes(2, "little") for n in (0, 0, len(shared))) + shared
    assert repr(Variant(EMPTY, shared)).startswith("Variant([[[[")


def test_walking_down_a_deep_value() -> None:
    v = Variant.from_json('{"a":[' * 20_000 + "7" + "]}" * 20_000)
    for _ in range(20_000):
        v = v["a"][0]
    assert v.to_python() == 7


def test_a_long_dictionary_is_not_read_for_a_scalar() -> None:
    metadata, _ = encode({f"{i}": Scalar(PRIMITIVES[0], None) for i in range(10)})
    assert Variant(metadata[:-1], b"\x0c\x07").type_name == "int8"


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("null", "null"),
        ("[true, false]", "array<boolean>"),
        ("[1, 300, 1.00, 1e0, 12345678901234567890]", "array<decimal16(0) | decimal4(2) | double | int16 | int8>"),
        ('{"b": {"x y": [{}]}, "a`": "s"}', "object<`a```: string, b: object<`x y`: array<object<>>>>"),
    ],
)
def test_schema_of_tells_physical_types(text: str, schema: str) -> None:
    assert Variant.from_json(text).schema_of() == schema
    assert Variant.from_json('{"n": 123.00}').get("$.n").schema_of() == "decimal4(2)"  # type: ignore[union-attr]


def test_schema_of_great_depth() -> None:
    assert Variant.from_json("[" * 50_000 + "]" * 50_000).schema_of() == "array<" * 50_000 + ">" * 50_000
