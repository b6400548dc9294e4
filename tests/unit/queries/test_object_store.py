"""Datasets in an object store: S3, as an emulator on this machine speaks it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

import varquet as vq
from varquet.errors import UnsupportedTypeError


@pytest.fixture(scope="module")
def store(object_store: pafs.FileSystem, tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = object_store
    made.create_dir("lake")
    folder: Path = tmp_path_factory.mktemp("local")
    for day in (1, 2):
        texts = [f'{{"id": {100 * day + n}, "tag": "t{n}", "odd": [{n}]}}' for n in range(20)]
        table = pa.Table.from_arrays([vq.parse_json(pa.array(texts))], schema=pa.schema([vq.variant_field("v")]))
        vq.write(table, folder / f"{day}.parquet", {"v": "id bigint, tag string"}, row_group_rows=5)
        with made.open_output_stream(f"lake/events/day={day}/part.parquet") as file:
            file.write((folder / f"{day}.parquet").read_bytes())
    with made.open_output_stream("lake/events/_SUCCESS.parquet") as file:
        file.write(b"no data")
    return made


def test_a_folder_with_partitions(store: Any) -> None:
    query = vq.scan("lake/events", filesystem=store)
    assert query.count() == 40
    asked = query.select({"id": "$.id bigint", "day": "day", "o": "$.odd[0] int"}).where("day = 2 and $.id < 203")
    assert asked.table().to_pylist() == [{"id": 200 + n, "day": 2, "o": n} for n in range(3)]
    assert (asked.explain().files_read, asked.explain().row_groups_read) == (1, 1)
    assert vq.to_json(query.where("$.id = 107").table()["v"]).to_pylist() == ['{"id":107,"odd":[7],"tag":"t7"}']


def test_globs_files_and_lists(store: Any) -> None:
    assert vq.scan("lake/events/day=*/part.parquet", filesystem=store).count() == 40
    assert vq.scan("lake/**/part.parquet", filesystem=store).count() == 40
    assert vq.scan("lake/events/day=[1]/*.parquet", filesystem=store).count() == 20
    assert vq.scan("lake/events/day=[!1]/*.parquet", filesystem=store).where("$.id < 200").count() == 0
    assert vq.scan(["lake/events/day=1/part.parquet", "lake/events/day=2"], filesystem=store).count() == 40
    with pytest.raises(UnsupportedTypeError, match="which names none"):
        vq.scan("lake/nothing", filesystem=store)


def test_uris(store: Any, object_store_port: int) -> None:
    options = f"?endpoint_override=http%3A%2F%2F127.0.0.1%3A{object_store_port}&region=us-east-1"
    assert vq.scan(f"s3://a:b@lake/events{options}").where("$.id = 219").count() == 1
    assert vq.scan(f"s3://a:b@lake/events/day=*/part.parquet{options}").count() == 40


def test_other_filesystems(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([vq.parse_json(pa.array(['{"a": 1}']))], schema=pa.schema([vq.variant_field("v")]))
    vq.write(table, tmp_path / "f.parquet")
    assert vq.scan(f"file://{tmp_path}").count() == 1
    assert vq.scan(tmp_path, filesystem=pafs.LocalFileSystem()).count() == 1

    class OneFile:
        """As little of fsspec's interface as is needed."""

        protocol = "one"

        def info(self, path: str, **_: object) -> dict[str, Any]:
            return {"name": path, "size": (tmp_path / "f.parquet").stat().st_size, "type": "file"}

        def isfile(self, path: str) -> bool:
            return True

        def open(self, path: str, mode: str = "rb", **_: object) -> io.BytesIO:
            return io.BytesIO((tmp_path / "f.parquet").read_bytes())

    assert vq.scan("anything.parquet", filesystem=OneFile()).where("$.a = 1").count() == 1
