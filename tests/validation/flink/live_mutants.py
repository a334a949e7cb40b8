"""The live library with faults in it: patches of its sources, compiled into jars of their own."""

from dataclasses import dataclass
from pathlib import Path

from edrp.engines.flink.jars import JavaProgram
from edrp.validation.flink.lab.build import LAB


@dataclass(frozen=True, slots=True)
class Patch:
    """A text of a source, which is there once, and what takes its place."""

    file: str
    old: str
    new: str


def provoked(folder: Path) -> tuple[Patch, ...]:
    """No faults, but what makes them matter: workers stand still while a file is there, and receivers hang up the first time."""
    stall = f'while (new java.io.File("{folder}/stall-" + number()).exists()) {{ Thread.sleep(10); }}'
    hang = 'if (System.getProperties().put("hung up " + token + version, "") == null) { return; }'
    deliver = "arrived.accept(new Parcel(version, load, chunks));"
    key = "TaskKey key = record.getValue().f0;"
    return Patch("Worker", key, f"{stall} {key}"), Patch("Transfers", deliver, f"{hang} {deliver}")


ALL_OUT = "== marker.routers)"
SEND_IN = "out.collect(Tuple2.of(to, Either.Right(move.marker(true, routers))));"
NUMBER = "getRuntimeContext().getTaskInfo().getIndexOfThisSubtask()"
COUNTED = "load == null ? new long[4] : load"
READ = "{in.readLong(), in.readLong(), in.readLong(), in.readLong()}"
EARLY = "early.put(parcel.version(), parcel);"
WHERE_TO = "java.util.stream.LongStream.of(move.task, move.to)"
INSTALLED_EARLY = """
    TaskKey to = new TaskKey((int) parcel.load()[4], (int) parcel.load()[5], TaskKey.hashes(settings.groups));
    setCurrentKey(to);
    for (byte[] chunk : parcel.chunks()) { state.install(chunk); }
    loads.put(to, parcel.load());
    measured.update(parcel.load().clone());
    early.put(parcel.version(), new Transfers.Parcel(parcel.version(), parcel.load(), new ArrayList<>()));
"""

MUTANTS: dict[str, tuple[Patch, ...]] = {
    "barrier does not wait": (Patch("Worker", "finish();", ""),),
    "state installed before the first IN": (
        Patch("Worker", COUNTED, f"java.util.stream.LongStream.concat(Arrays.stream({COUNTED}), {WHERE_TO}).toArray()"),
        Patch("Worker", EARLY, INSTALLED_EARLY),
        Patch("Transfers", "load[2], load[3]}", "load[2], load[3], load[4], load[5]}"),
        Patch("Transfers", READ, READ.replace("}", ", in.readLong(), in.readLong()}")),
    ),
    "one OUT dropped": (Patch("Worker", ALL_OUT, "== marker.routers - 1)"),),
    "one IN dropped": (Patch("Router", SEND_IN, f"if ({NUMBER} > 0) {SEND_IN}"),),
    "table from arguments": (Patch("Router", "group == null ? first[task] : group", "first[task]"),),
    "copy deleted before it is confirmed": (Patch("Transfers", "socket.getInputStream().read() != 1", "socket.isClosed()"),),
}


def patched_jar(folder: Path, patches: tuple[Patch, ...]) -> Path:
    """Compile the lab and the library with patches into a jar in an empty folder.

    Raises
    ------
    ValueError
        A source does not hold the text of a patch exactly once: adapt it to the source.
    """
    texts = {path.stem: path.read_text(encoding="utf-8") for path in LAB.sources()}
    for patch in patches:
        if texts[patch.file].count(patch.old) != 1:
            raise ValueError(f"{patch.file}.java holds {texts[patch.file].count(patch.old)} times: {patch.old}")
        texts[patch.file] = texts[patch.file].replace(patch.old, patch.new)
    sources = folder / "sources"
    sources.mkdir()
    for name, text in texts.items():
        (sources / f"{name}.java").write_text(text, encoding="utf-8")
    program = JavaProgram(folder / "mutant.jar", (sources,), LAB.entry)
    program.build()
    return program.jar
