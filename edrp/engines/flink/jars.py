"""Jars that the package brings along: compiled from its Java sources, with the hash of these in the manifest; needs `javac`.

Also the paths of Java and of Flink's libraries on this machine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from edrp.engines.errors import EngineError

NEEDED = ("flink-dist-", "log4j-")
"""Beginnings of the names of libraries that a cluster without SQL needs."""

MANIFEST = "META-INF/MANIFEST.MF"
HASH_FIELD = "Sources-Hash"
RELEASE = "17"
"""Oldest Java that Flink 2 runs on."""


def java() -> str:
    """The program `java`: that of JAVA_HOME, else the one on the path.

    Raises
    ------
    EngineError
        There is none.
    """
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    path = path or shutil.which("java")
    if path is None:
        raise EngineError("java", "is not found; install Java 17 or later, or name it in JAVA_HOME")
    return path


def flink_libraries() -> list[Path]:
    """The libraries of Flink that a cluster needs, from the package `apache-flink-libraries`.

    Raises
    ------
    EngineError
        The package is not installed.
    """
    package = find_spec("pyflink")
    folders = [] if package is None else [Path(location) / "lib" for location in package.submodule_search_locations or ()]
    libraries = [path for folder in folders for path in sorted(folder.glob("*.jar")) if path.name.startswith(NEEDED)]
    if not libraries:
        raise EngineError("LocalFlink", "needs the libraries of Flink; pip install 'edrp[flink]' (330 MB)")
    return libraries


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """Java sources and the jar that is made of them.

    Attributes
    ----------
    jar : the file that is shipped.
    folders : of the sources.
    entry : the main class, None for a library.
    """

    jar: Path
    folders: tuple[Path, ...]
    entry: str | None = None

    def sources(self) -> list[Path]:
        """All sources, in order of their names."""
        return sorted((path for folder in self.folders for path in folder.glob("*.java")), key=lambda path: path.name)

    def sources_hash(self) -> str:
        """Hash over names and contents of the sources."""
        digest = hashlib.sha256()
        for source in self.sources():
            content = source.read_bytes()
            digest.update(f"{source.name} {len(content)}\n".encode() + content)
        return digest.hexdigest()[:32]  # a line of a manifest has at most 72 bytes

    def jar_hash(self) -> str | None:
        """Hash of the sources that the jar was made from; None where it says none."""
        with zipfile.ZipFile(self.jar) as jar:
            lines = jar.read(MANIFEST).decode("utf-8").splitlines()
        return next((line.partition(": ")[2] for line in lines if line.startswith(f"{HASH_FIELD}: ")), None)

    def build(self) -> str:
        """Compile the sources and write the jar, with equal times for equal content; a line that says so.

        Raises
        ------
        EngineError
            There is no `javac`, no Flink to compile against, or the sources do not compile.
        """
        compiler = shutil.which("javac")
        if compiler is None:
            raise EngineError("javac", f"is not found; install a JDK of Java {RELEASE} or later")
        libraries = ":".join(map(str, flink_libraries()))
        with TemporaryDirectory() as target:
            options = ["--release", RELEASE, "-Xlint:all,-serial,-try", "-Werror", "-cp", libraries, "-d", target]
            result = subprocess.run([compiler, *options, *map(str, self.sources())], capture_output=True, text=True)
            if result.returncode:
                raise EngineError("javac", f"refuses the sources: {result.stderr.strip()}")
            head = "" if self.entry is None else f"Main-Class: {self.entry}\r\n"
            manifest = f"Manifest-Version: 1.0\r\n{head}{HASH_FIELD}: {self.sources_hash()}\r\n\r\n"
            with zipfile.ZipFile(self.jar, "w", zipfile.ZIP_DEFLATED) as jar:
                _add(jar, MANIFEST, manifest.encode())
                for path in sorted(Path(target).rglob("*.class")):
                    _add(jar, path.relative_to(target).as_posix(), path.read_bytes())
        return f"{self.jar}: {self.jar.stat().st_size} bytes from sources {self.sources_hash()}\n"


def _add(jar: zipfile.ZipFile, name: str, content: bytes) -> None:
    jar.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
