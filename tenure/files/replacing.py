"""Replace files in one step, so that no reader and no crash meets half of one."""

import os
import stat
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file that keeps its owner and its permissions; other users may not read a private one.

    Raises:
        OSError: it cannot be written; it is as it was.
    """
    former = path.stat() if os.path.lexists(path) else None
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if former and os.geteuid() == 0:
                os.fchown(descriptor, former.st_uid, former.st_gid)
            if not private:
                os.fchmod(descriptor, stat.S_IMODE(former.st_mode) if former else 0o666 & ~_umask())
        Path(draft).replace(path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
