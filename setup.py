"""What pyproject.toml cannot say: which compiled kernels the wheel holds. `build_tools/backend.py` has made them already."""

import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent / "build_tools"))
import backend
import native


class PackKernels(build_ext):
    """Takes modules that are compiled where setuptools would compile them."""

    def run(self) -> None:
        for module in backend.to_pack:
            target = Path(self.build_lib, *module.module.split(".")[:-1], module.file.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(module.file, target)

    def get_source_files(self) -> list[str]:
        return []


setup(
    ext_modules=[Extension(module.module, [], py_limited_api=native.LIMITED_API) for module in backend.to_pack],
    cmdclass={"build_ext": PackKernels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if backend.to_pack and native.LIMITED_API else {},
)
