"""Compiles the lab's jobs: `python -m edrp.validation.flink.lab.build` after a change of a source; needs `javac`."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from edrp.engines.errors import EngineError
from edrp.engines.flink.installation import flink_libraries

FOLDER = Path(__file__).parent
JAR = FOLDER / "lab.jar"
ENTRY_CLASS = "edrp.lab.LabJob"

MANIFEST = "META-INF/MANIFEST.MF"
HASH_FIELD = "Sources-Hash"
RELEASE = "17"
"""Oldest Java that Flink 2 runs on."""


def sources_hash() -> str:
    """Hash over names and contents of the sources."""
    digest = hashlib.sha256()
    for source in sorted(FOLDER.glob("*.java")):
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:32]  # a line of a manifest has at most 72 bytes


def jar_hash() -> str | None:
    """Hash of the sources that the jar was made from; None where it says none."""
    with zipfile.ZipFile(JAR) as jar:
        lines = jar.read(MANIFEST).decode("utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith(f"{HASH_FIELD}: ")), None)


def build() -> None:
    """Compile the sources and write the jar, with equal times for equal content.

    Raises
    ------
    EngineError
        There is no `javac`, no Flink to compile against, or the sources do not compile.
    """
    compiler = shutil.which("javac")
    if compiler is None:
        raise EngineError("javac", f"is not found; install a JDK of Java {RELEASE} or later")
    libraries = [str(path) for path in flink_libraries()]
    with TemporaryDirectory() as target:
        options = ["--release", RELEASE, "-Xlint:all,-serial,-try", "-Werror", "-cp", ":".join(libraries), "-d", target]
        sources = [str(source) for source in sorted(FOLDER.glob("*.java"))]
        result = subprocess.run([compiler, *options, *sources], capture_output=True, text=True)
        if result.returncode:
            raise EngineError("javac", f"refuses the sources: {result.stderr.strip()}")
        classes = sorted(Path(target).rglob("*.class"))
        with zipfile.ZipFile(JAR, "w", zipfile.ZIP_DEFLATED) as jar:
            entry = f"Manifest-Version: 1.0\r\nMain-Class: {ENTRY_CLASS}\r\n{HASH_FIELD}: {sources_hash()}\r\n\r\n"
            _add(jar, MANIFEST, entry.encode())
            for path in classes:
                _add(jar, path.relative_to(target).as_posix(), path.read_bytes())


def _add(jar: zipfile.ZipFile, name: str, content: bytes) -> None:
    jar.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    build()
    sys.stdout.write(f"{JAR}: {JAR.stat().st_size} bytes from sources {sources_hash()}\n")
