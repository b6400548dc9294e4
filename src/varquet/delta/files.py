"""The files of a log: their names, and how a new one is put where there was none."""

from __future__ import annotations

import errno
import os
import re
import secrets
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.fs as pafs

from varquet.errors import VarquetError
from varquet.parquet.folder import Entry, Folder
from varquet.parquet.listing import LOG

__all__ = ["LOG", "CheckpointFiles", "LogFiles", "commit_path", "is_table", "put_new"]

_COMMIT: Final = re.compile(r"(\d{20})\.json")
_CHECKPOINT: Final = re.compile(
    r"(\d{20})\.checkpoint(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<uuid>[0-9a-fA-F-]{36}))?\.(?P<kind>parquet|json)"
)
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def commit_path(version: int) -> str:
    """Where the commit of a version is."""
    return f"{LOG}/{version:020d}.json"


def is_table(folder: Folder) -> bool:
    """Whether a folder is a Delta table."""
    return folder.exists(LOG)


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """A checkpoint that is complete."""

    version: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogFiles:
    """What is in the folder of a log."""

    commits: dict[int, Entry]
    checkpoints: list[CheckpointFiles]
    """The oldest first."""
    others: list[Entry]

    @classmethod
    def of(cls, folder: Folder) -> LogFiles:
        """As it is now."""
        commits: dict[int, Entry] = {}
        parts: dict[tuple[int, int], dict[int, str]] = {}
        whole: list[CheckpointFiles] = []
        others: list[Entry] = []
        for entry in folder.entries(LOG):
            name = entry.path.removeprefix(f"{LOG}/")
            commit, checkpoint = _COMMIT.fullmatch(name), _CHECKPOINT.fullmatch(name)
            if commit is not None:
                commits[int(commit[1])] = entry
            elif checkpoint is None:
                others.append(entry)
            elif checkpoint["part"] is not None:
                parts.setdefault((int(checkpoint[1]), int(checkpoint["parts"])), {})[int(checkpoint["part"])] = entry.path
            else:
                whole.append(CheckpointFiles(int(checkpoint[1]), (entry.path,)))
        for (version, count), found in parts.items():
            if len(found) == count:
                whole.append(CheckpointFiles(version, tuple(found[part] for part in sorted(found))))
        return cls(commits, sorted(whole, key=lambda one: one.version), others)

    @property
    def latest(self) -> int:
        """The last version; -1 if there is none."""
        return max([-1, *self.commits, *(one.version for one in self.checkpoints)])


def put_new(folder: Folder, path: str, data: bytes) -> bool:
    """Write a file, whole or not at all, where there is none; False if there is one."""
    if folder.filesystem is None:
        return _put_local(folder.full(path), data)
    return _put_in_store(folder.filesystem, folder.full(path), data)


def _put_local(path: str, data: bytes) -> bool:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{secrets.token_hex(8)}.tmp")
    with open(temporary, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _put_exclusively(path, data)
    finally:
        os.unlink(temporary)
    return True


def _put_exclusively(path: str, data: bytes) -> bool:
    """For disks that have no links: others may see the file while it is written, but nobody writes it as well."""
    try:
        with open(path, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        return False
    return True


def _put_in_store(filesystem: pafs.FileSystem, path: str, data: bytes) -> bool:
    if isinstance(filesystem, pafs.PyFileSystem) and isinstance(filesystem.handler, pafs.FSSpecHandler):
        try:
            filesystem.handler.fs.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        return True
    store, key = _store_of(filesystem, path)
    import obstore

    try:
        obstore.put(store, key, data, mode="create")
    except obstore.exceptions.AlreadyExistsError:
        return False
    return True


def _store_of(filesystem: pafs.FileSystem, path: str) -> tuple[Any, str]:
    """A client with conditional puts for the store of one of pyarrow's filesystems, and the key of a path in it."""
    try:
        from obstore import store
    except ModuleNotFoundError:
        raise VarquetError(
            "expected the package obstore, which commits to Delta tables in object stores need, got none",
            hint="pip install 'varquet[delta]'",
        ) from None
    bucket, _, key = path.partition("/")
    known = filesystem.__reduce__()[1]
    options: dict[str, Any] = {}
    for one in known:
        options |= one if isinstance(one, dict) else {}
    if filesystem.type_name == "s3":
        return store.S3Store(bucket, config=_s3_config(options), client_options=_client_options(options)), key
    if filesystem.type_name == "gcs":
        return store.GCSStore(bucket), key
    if filesystem.type_name == "abfs":
        return store.AzureStore(bucket, account_name=options.get("account_name"), account_key=options.get("account_key")), key
    raise VarquetError(
        f"expected a filesystem in which a file can be put only where there is none, got {filesystem.type_name}",
        hint="commits to Delta tables need it; S3, Google and Azure stores, local disks and fsspec filesystems with mode='create' have it",
    )


def _s3_config(options: dict[str, Any]) -> Any:
    endpoint = options.get("endpoint_override")
    if endpoint and "://" not in endpoint:
        endpoint = f"{options.get('scheme') or 'https'}://{endpoint}"
    config = {
        "access_key_id": options.get("access_key"),
        "secret_access_key": options.get("secret_key"),
        "session_token": options.get("session_token"),
        "region": options.get("region"),
        "endpoint": endpoint,
        "virtual_hosted_style_request": bool(options.get("force_virtual_addressing")),
        "skip_signature": bool(options.get("anonymous")),
    }
    return {name: value for name, value in config.items() if value}


def _client_options(options: dict[str, Any]) -> Any:
    is_plain = str(options.get("endpoint_override") or "").startswith("http://") or options.get("scheme") == "http"
    return {"allow_http": True} if is_plain else {}
