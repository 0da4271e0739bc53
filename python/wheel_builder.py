"""Makes the package that ``pip`` installs. The usual tools for it would have to be downloaded
first; a wheel of pure Python is only a zip file with three lists in it.
"""

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
NAME = "heeler"


def version() -> str:
    """The version, from where it is said."""
    text = (HERE / NAME / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{NAME}/__init__.py says no version")
    return found.group(1)


def metadata() -> str:
    """What installers want to know."""
    about = (HERE / "README.md").read_text(encoding="utf-8")
    head = [
        "Metadata-Version: 2.1",
        f"Name: {NAME}",
        f"Version: {version()}",
        "Summary: Training jobs that report, save when asked, resume and adapt",
        "License: Apache-2.0",
        "Requires-Python: >=3.9",
        "Provides-Extra: torch",
        'Requires-Dist: torch; extra == "torch"',
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join([*head, "", about])


def sources() -> List[Path]:
    """The package's own files."""
    return sorted([*(HERE / NAME).glob("*.py"), HERE / NAME / "py.typed"])


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    """Make a wheel; called by installers."""
    files = [(f"{NAME}/{path.name}", path.read_bytes()) for path in sources()]
    return _wheel(wheel_directory, files)


def build_editable(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    """Make a wheel that only points here, for ``pip install -e``."""
    return _wheel(wheel_directory, [(f"{NAME}.pth", f"{HERE}\n".encode())])


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    """Make an archive of the sources; called by installers."""
    root = f"{NAME}-{version()}"
    beside = [HERE / name for name in ("README.md", "pyproject.toml", "wheel_builder.py")]
    with tarfile.open(Path(sdist_directory) / f"{root}.tar.gz", "w:gz") as archive:
        for path in [*beside, *sources()]:
            archive.add(path, f"{root}/{path.relative_to(HERE)}")
        data = metadata().encode()
        about = tarfile.TarInfo(f"{root}/PKG-INFO")
        about.size = len(data)
        archive.addfile(about, io.BytesIO(data))
    return f"{root}.tar.gz"


def _wheel(folder: str, files: List[Tuple[str, bytes]]) -> str:
    about = f"{NAME}-{version()}.dist-info"
    kind = "Wheel-Version: 1.0\nGenerator: heeler\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = [
        *files,
        (f"{about}/METADATA", metadata().encode()),
        (f"{about}/WHEEL", kind.encode()),
    ]
    listed = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in files]
    record = f"{about}/RECORD"
    files.append((record, "\n".join([*listed, f"{record},,", ""]).encode()))
    name = f"{NAME}-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files:
            # A fixed date, so that the same sources give the same wheel.
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data)
    return name


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
