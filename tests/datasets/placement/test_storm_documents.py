"""Storm's own documents: serialized topologies, captured loads and clusters become problems, or say what is wrong where."""

from __future__ import annotations

import gzip
import json
import random
import sys

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

import edrp
from edrp.core.errors import BackendUnavailableError, InvalidInstanceError
from edrp.datasets.placement.storm_documents import (
    decode_conf,
    decode_topology,
    read_inventory,
    read_load_capture,
    read_serialized,
    storm_problem,
)

BOOL, I32, I64, STRING, STRUCT, MAP, SET, LIST = 2, 8, 10, 11, 12, 13, 14, 15
WRITERS = {BOOL: "writeBool", I32: "writeI32", I64: "writeI64"}

JAVA_OBJECT = {1: (STRING, b"\xac\xed\x00\x05sr\xff\xfe")}
"""The code of a spout or bolt as Storm keeps it: bytes that are no text."""

DEFAULT_STREAM = {1: (LIST, (STRING, ["word"])), 2: (BOOL, False)}


def encoded(fields):
    """A struct in Thrift's binary protocol: fields by number, each with type and value."""
    buffer = TMemoryBuffer()
    write(TBinaryProtocol(buffer), STRUCT, fields)
    return buffer.getvalue()


def write(protocol, code, value):
    """Write a value of a type by its code, structures and maps with all that they hold."""
    if code == STRUCT:
        protocol.writeStructBegin("")
        for number, (inner, content) in value.items():
            protocol.writeFieldBegin("", inner, number)
            write(protocol, inner, content)
        protocol.writeFieldStop()
    elif code == MAP:
        keys, members, pairs = value
        protocol.writeMapBegin(keys, members, len(pairs))
        for key, member in pairs:
            write(protocol, keys, key)
            write(protocol, members, member)
    elif code in (LIST, SET):
        protocol.writeListBegin(value[0], len(value[1]))
        for member in value[1]:
            write(protocol, value[0], member)
    elif code == STRING:
        protocol.writeBinary(value if isinstance(value, bytes) else value.encode())
    else:
        getattr(protocol, WRITERS[code])(value)


def stream_id(component, stream="default"):
    """Fields of a stream's identifier."""
    return {1: (STRING, component), 2: (STRING, stream)}


SHUFFLE, ALL, GLOBAL = {2: (STRUCT, {})}, {3: (STRUCT, {})}, {1: (LIST, (STRING, []))}
CUSTOM = {7: (STRING, b"\xac\xed\x00\x05\xff")}


def component(hint=None, conf=None, inputs=(), streams=("default",)):
    """A spout or a bolt; inputs are pairs of a stream and its grouping, both as fields."""
    common = {
        1: (MAP, (STRUCT, STRUCT, list(inputs))),
        2: (MAP, (STRING, STRUCT, [(name, DEFAULT_STREAM) for name in streams])),
    }
    if hint is not None:
        common[3] = (I32, hint)
    if conf is not None:
        common[4] = (STRING, conf if isinstance(conf, str) else json.dumps(conf))
    return {1: (STRUCT, JAVA_OBJECT), 2: (STRUCT, common)}


def topology(spouts, bolts, **other):
    """Fields of a topology."""
    return {
        1: (MAP, (STRING, STRUCT, list(spouts.items()))),
        2: (MAP, (STRING, STRUCT, list(bolts.items()))),
        3: (MAP, (STRING, STRUCT, [])),
        4: (LIST, (STRING, [b"\xff\xfe hook"])),
        7: (STRING, "2.4.0"),
        9: (MAP, (STRING, SET, [("count", (STRING, ["cache"]))])),
        **other,
    }


def word_count():
    """A spout of 2, a bolt of 3 that gets its tuples, and one that gets copies, and all of the bolt's."""
    return topology(
        {"sentences": component(2, {"topology.component.cpu.pcore.percent": 50.0}, streams=("default", "control"))},
        {
            "split": component(3, inputs=[(stream_id("sentences"), SHUFFLE)]),
            "count": component(
                4,
                {"topology.component.resources.onheap.memory.mb": 256.0, "topology.component.resources.offheap.memory.mb": 64},
                inputs=[(stream_id("split"), GLOBAL), (stream_id("sentences", "control"), ALL), (stream_id("__system"), SHUFFLE)],
            ),
        },
    )


def test_a_serialized_topology_becomes_operators_with_instances_needs_and_rates():
    for code in (encoded(word_count()), gzip.compress(encoded(word_count()))):
        read = decode_topology(code)
        assert {o.name: o.instances for o in read.operators} == {"sentences": 2, "split": 3, "count": 4}
        sentences, split, count = read.operators
        assert sentences.resources == {"cpu": 0.5, "memory": 128 * 2**20}
        assert split.resources == {"cpu": 0.1, "memory": 128 * 2**20}
        assert count.resources == {"cpu": 0.1, "memory": 320 * 2**20}
        # Each of the spout's streams carries half of its 2 tuples/s; the one with grouping `all` goes to 4 executors.
        assert {(s.source, s.target): s.rate for s in read.streams} == {
            ("sentences", "split"): 1.0,
            ("split", "count"): 1.0,
            ("sentences", "count"): 4.0,
        }
        assert sentences.external_rate == 2.0
    assert decode_topology(code, spout_rate=10.0).rate("split", "count") == 10.0


def test_the_configuration_of_the_topology_stands_behind_that_of_a_component():
    conf = {
        "topology.component.cpu.pcore.percent": 20.0,
        "topology.component.resources.onheap.memory.mb": 100.0,
        "topology.max.task.parallelism": 3,
    }
    read = decode_topology(encoded(word_count()), conf)
    assert [o.instances for o in read.operators] == [2, 3, 3]
    assert [o.resources["cpu"] for o in read.operators] == [0.5, 0.2, 0.2]
    assert [o.resources["memory"] / 2**20 for o in read.operators] == [100, 100, 320]


def test_newer_storm_writes_needs_into_a_map_and_tasks_limit_executors():
    needs = {"cpu.pcore.percent": 30.0, "onheap.memory.mb": 10.0, "topology.component.resources.offheap.memory.mb": 6.0}
    conf = {"topology.component.resources.map": needs, "topology.tasks": 2, "topology.component.cpu.pcore.percent": None}
    read = decode_topology(encoded(topology({"one": component(5, conf)}, {"two": component(None)})))
    assert read.by_name["one"].resources == {"cpu": 0.3, "memory": 16 * 2**20}
    assert [o.instances for o in read.operators] == [2, 1]


def test_cycles_and_custom_groupings_are_read():
    code = topology(
        {"in": component(1)},
        {
            "loop": component(2, inputs=[(stream_id("in"), CUSTOM), (stream_id("back"), SHUFFLE), (stream_id("loop"), SHUFFLE)]),
            "back": component(1, inputs=[(stream_id("loop"), SHUFFLE)]),
        },
    )
    read = decode_topology(encoded(code))
    assert read.feedback == {("back", "loop"), ("loop", "loop")}
    assert read.rate("loop", "back") == read.rate("back", "loop") == 1.0


def test_bytes_that_end_anywhere_are_refused_at_a_field():
    code = encoded(word_count())
    places = set()
    for end in range(len(code)):
        with pytest.raises(InvalidInstanceError) as raised:
            decode_topology(code[:end])
        (fault,) = raised.value.faults
        assert "is cut off" in fault.why
        places.add(fault.place)
    assert {
        "file",
        "spouts",
        "spouts['sentences'].common.json_conf",
        "spouts['sentences'].common.streams['control'].output_fields[0]",
        "bolts['count'].common.inputs[1]",
        "key of bolts['count'].common.inputs[1].streamId",
        "bolts['split'].common.parallelism_hint",
        "bolts['split'].bolt_object.field 1",
        "field 9",
    } <= places


def test_damaged_bytes_are_read_or_refused_and_nothing_else():
    code = encoded(word_count())
    draw = random.Random(1)
    refused = []
    for _ in range(2000):
        damaged = bytearray(code)
        for _ in range(draw.randint(1, 3)):
            damaged[draw.randrange(len(code))] = draw.randrange(256)
        try:
            decode_topology(bytes(damaged))
        except InvalidInstanceError as error:
            refused.append(error)
    assert len(refused) > 1000
    assert all(fault.place and fault.why for error in refused for fault in error.faults)


def replaced(fields, path, value):
    """The struct with another value (or without one) at a path of field numbers and positions in maps."""
    first, *rest = path
    copy = dict(fields)
    if not rest:
        copy.pop(first) if value is None else copy.update({first: value})
        return copy
    code, content = copy[first]
    if code == MAP:
        position, *rest = rest
        keys, members, pairs = content
        key, member = pairs[position]
        pairs = [*pairs[:position], (key, replaced(member, rest, value)), *pairs[position + 1 :]]
        copy[first] = (MAP, (keys, members, pairs))
    else:
        copy[first] = (code, replaced(content, rest, value))
    return copy


COUNT = (2, 1, 2)
"""Where the common part of the second bolt is."""


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((*COUNT, 4), (I32, 7), "bolts['count'].common.json_conf: must be a string (got an i32)"),
        ((*COUNT, 4), (STRING, b"\xff\xfe"), "bolts['count'].common.json_conf: is not UTF-8 text"),
        ((*COUNT, 4), (STRING, "{cpu"), "bolts['count'].common.json_conf: is not JSON: "),
        ((*COUNT, 4), (STRING, "[1]"), "bolts['count'].common.json_conf: must be an object of settings (got \"[1]\")"),
        (
            (*COUNT, 4),
            (STRING, '{"topology.component.cpu.pcore.percent": -5}'),
            "bolts['count'].common.json_conf['topology.component.cpu.pcore.percent']: must be a number of at least 0 (got -5)",
        ),
        (
            (*COUNT, 4),
            (STRING, '{"topology.component.resources.map": {"onheap.memory.mb": "much"}}'),
            "json_conf['topology.component.resources.onheap.memory.mb']: must be a number of at least 0 (got \"much\")",
        ),
        (
            (*COUNT, 4),
            (STRING, '{"topology.component.resources.map": 3}'),
            "json_conf['topology.component.resources.map']: must be an object of numbers by name (got 3)",
        ),
        ((*COUNT, 3), (I64, 4), "bolts['count'].common.parallelism_hint: must be an i32 (got an i64)"),
        (
            (*COUNT, 3),
            (I32, 0),
            "bolts['count'].common.parallelism_hint: must come to at least 1 and at most 10000 executors, with its tasks (got 0)",
        ),
        ((*COUNT, 1), None, "bolts['count'].common.inputs: missing"),
        ((*COUNT, 1), (LIST, (STRING, [])), "bolts['count'].common.inputs: must be a map (got a list)"),
        (
            (*COUNT, 1),
            (MAP, (STRING, STRUCT, [("a", {})])),
            "key of bolts['count'].common.inputs[0]: must be a struct (got a string)",
        ),
        ((*COUNT, 1, 0, 1), None, "bolts['count'].common.inputs[0]: must be exactly one of fields, shuffle, all"),
        (
            (*COUNT, 1),
            (MAP, (STRUCT, STRUCT, [(stream_id("splitt"), SHUFFLE)])),
            "bolts['count'].common.inputs[0]: is no spout or bolt; did you mean 'split'? (got \"splitt\")",
        ),
        (
            (*COUNT, 1),
            (MAP, (STRUCT, STRUCT, [(stream_id("split", "late"), SHUFFLE)])),
            "bolts['count'].common.inputs[0]: is no stream of 'split'; there are default (got \"late\")",
        ),
        ((*COUNT, 2, 0, 2), (STRING, "x"), "bolts['count'].common.streams['default'].direct: must be a bool (got a string)"),
        ((2, 1, 2), None, "bolts['count'].common: missing"),
        ((2,), None, "bolts: missing"),
        ((1,), (STRUCT, {}), "spouts: must be a map (got a struct)"),
        ((2,), (MAP, (STRING, STRUCT, [("sentences", component(1))])), "bolts['sentences'].common: is a spout or a bolt already"),
    ],
)
def test_what_is_wrong_in_a_struct_is_refused_by_its_field(path, value, message):
    code = encoded(replaced(word_count(), path, value))
    with pytest.raises(InvalidInstanceError) as raised:
        decode_topology(code)
    assert message in str(raised.value)


def test_all_faults_of_a_topology_are_told_together():
    code = replaced(word_count(), (*COUNT, 3), (I32, -1))
    code = replaced(code, (2, 0, 2, 4), (STRING, "nonsense"))
    with pytest.raises(InvalidInstanceError) as raised:
        decode_topology(encoded(code), {"topology.max.task.parallelism": "few"})
    assert [fault.place for fault in raised.value.faults] == [
        "conf['topology.max.task.parallelism']",
        "bolts['split'].common.json_conf",
        "bolts['count'].common.parallelism_hint",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (encoded(topology({}, {})), "there are neither spouts nor bolts; a topology needs at least one component"),
        (encoded(word_count()) + b"more", "end: more follows after the struct; it must be the whole file (got 4 bytes)"),
        (b"\xac\xed\x00\x05sr\x00", "file: is a serialized Java object, not a Thrift struct"),
        (gzip.compress(encoded(word_count()), mtime=0)[:-20], "file: is cut off: the compressed data have no end"),
        (b"\x1f\x8b\x08\x00" + bytes(20), "file: is damaged: "),
        (b"PK\x03\x04 a zip archive", "field 19203: is of no type that Thrift has; is this a serialized topology? (got type 80)"),
    ],
)
def test_what_is_no_serialized_topology_is_refused(content, message):
    with pytest.raises(InvalidInstanceError) as raised:
        decode_topology(content)
    assert message in str(raised.value)


def test_lengths_that_no_file_holds_cost_neither_memory_nor_time():
    for length in (2**31 - 1, -1):
        code = bytes([MAP, 0, 1, STRING, STRUCT]) + length.to_bytes(4, "big", signed=True)
        with pytest.raises(InvalidInstanceError, match="spouts: cannot be read as Thrift"):
            decode_topology(code)
    bomb = gzip.compress(bytes(101 * 2**20), compresslevel=1)
    with pytest.raises(InvalidInstanceError, match="holds more than 104857600 bytes"):
        decode_topology(bomb)


def test_files_are_named_in_what_is_said_of_them(tmp_path):
    code, conf = tmp_path / "stormcode.ser", tmp_path / "stormconf.ser"
    code.write_bytes(gzip.compress(encoded(word_count())))
    conf.write_bytes(gzip.compress(b'{"topology.max.task.parallelism": 1}'))
    assert sum(o.instances for o in read_serialized(code, conf).operators) == 3
    assert sum(o.instances for o in read_serialized(code).operators) == 9
    conf.write_text("[]")
    with pytest.raises(
        InvalidInstanceError, match=r"stormconf.ser: 1 fault.*\n.*file: must be an object of settings \(got \[\]\)"
    ):
        read_serialized(code, conf)
    code.write_bytes(b"")
    with pytest.raises(InvalidInstanceError, match=r"stormcode.ser: 1 fault.*\n.*file: is empty"):
        read_serialized(code)
    with pytest.raises(InvalidInstanceError, match="there is no such file"):
        read_serialized(tmp_path / "nowhere.ser")
    with pytest.raises(InvalidInstanceError, match="file: is not JSON"):
        decode_conf(b"topology.tasks: 2")


CAPTURE = """
name: word count
config:
  topology.component.resources.offheap.memory.mb: 32.0
  topology.component.resources.onheap.memory.mb: 64.0
  topology.workers: 3
  topology.worker.gc.childopts: null
spouts:
- id: sentences
  parallelism: 2
  cpuLoad: 40.0
  memoryLoad: 512.0
  streams:
  - streamId: default
    rate: {mean: 100.0, stddev: 3.5, min: 90.0, max: 1.7976931348623157E308}
    areKeysSkewed: false
  - streamId: control
    rate: {mean: 2.5}
bolts:
- id: split
  parallelism: 3
  streams:
  - rate: {mean: 250.0, stddev: 0.0}
- id: count
  parallelism: 4
  cpuLoad: 12.5
  slowExecutorPattern: {slownessMs: 10}
streams:
- {from: sentences, to: split, execTime: {mean: 0.1}, processTime: {mean: 0.2}, grouping: {type: LOCAL_OR_SHUFFLE}}
- {from: split, to: count, grouping: {type: fields}}
- {from: sentences, to: count, grouping: {type: ALL, streamId: control}}
- {from: sentences, to: count}
"""

CLUSTER = """
racks:
  edge:
  - {count: 3, supervisor.cpu.capacity: 30.0, supervisor.memory.capacity.mb: 768}
  - {name: server, supervisor.cpu.capacity: 100, supervisor.memory.capacity.mb: 1024.0}
  cloud:
  - {supervisor.cpu.capacity: 150, supervisor.memory.capacity.mb: 2048}
within_rack: {delay: 0.0002}
between_racks: {delay: 3e-3}
"""


def test_a_captured_load_becomes_operators_with_measured_rates(write):
    read = read_load_capture(write(CAPTURE, "capture.yaml"))
    assert {o.name: o.instances for o in read.operators} == {"sentences": 2, "split": 3, "count": 4}
    # Rates are per executor of the sender; copies go to all four executors of `count`, next to the shuffled tuples.
    assert {(s.source, s.target): s.rate for s in read.streams} == {
        ("sentences", "split"): 200.0,
        ("split", "count"): 750.0,
        ("sentences", "count"): 4 * 5.0 + 200.0,
    }
    assert read.operators[0].external_rate == 205.0
    assert read.operators[0].resources == {"cpu": 0.4, "memory": 544 * 2**20}
    assert read.operators[1].resources == {"cpu": 0.1, "memory": 96 * 2**20}
    assert read.operators[2].resources == {"cpu": 0.125, "memory": 96 * 2**20}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mean: 250.0", "mean: -1", "bolts[0].streams[0].rate.mean: must be at least 0 tuples/s (got -1)"),
        ("mean: 250.0", "mean: .nan", "bolts[0].streams[0].rate.mean: must be a finite number"),
        ("rate: {mean: 2.5}", "rate: {}", "spouts[0].streams[1].rate.mean: missing"),
        ("parallelism: 3", "parallelism: 0", "bolts[0].parallelism: must be at least 1 (got 0)"),
        ("parallelism: 3", "parallelism: 10001", "bolts[0].parallelism: must be at most 10000 (got 10001)"),
        ("- id: count", "- id: split", 'bolts[1].id: is there already; ids must be unique (got "split")'),
        ("from: split,", "from: splits,", "streams[1].from: is no spout or bolt; did you mean 'split'? (got \"splits\")"),
        ("to: split,", "to: 7,", "streams[0].to: must be text (got 7)"),
        ("type: fields", "type: RANDOM", "streams[1].grouping.type: must be 'SHUFFLE', 'FIELDS', 'ALL', "),
        (
            "streamId: control}}",
            "streamId: controls}}",
            "streams[2].grouping.streamId: is no stream that 'sentences' sends; did you mean 'control'? (got \"controls\")",
        ),
        ("spouts:", "spoutz:", "spouts: missing; this field is required"),
        ("name: word count", "name: [", "line 4, column 49: is not YAML"),
        (CAPTURE, "just text", 'document: must be an object with named fields (got "just text")'),
        (CAPTURE, "a: \x00", "is not YAML"),
        (CAPTURE, " \n", "file: is empty"),
    ],
)
def test_what_is_wrong_in_a_captured_load_is_refused_by_its_place(old, new, message, write):
    with pytest.raises(InvalidInstanceError) as raised:
        read_load_capture(write(CAPTURE.replace(old, new, 1), "capture.yaml"))
    assert message in str(raised.value)
    assert "capture.yaml" in str(raised.value)


def test_a_cluster_by_racks_becomes_a_network_with_zones(write):
    network = read_inventory(write(CLUSTER, "cluster.yaml"))
    assert [node.name for node in network.nodes] == ["edgeh000", "edgeh001", "edgeh002", "server", "cloudh000"]
    assert [node.resources["cpu"] for node in network.nodes] == [0.3, 0.3, 0.3, 1.0, 1.5]
    assert network.nodes[0].resources["memory"] == 768 * 2**20
    assert (network.delay("server", "edgeh001"), network.delay("server", "cloudh000")) == (0.0002, 0.003)


def test_both_forms_of_the_scheduler_test_are_read_and_numbered_through(write):
    rows = [[2, "r005", 36, 181362, 3500], [1, "r005", 48, 177748, 4700], [1, "r006", 18, 88305, 1800]]
    fields = ("supervisorCnt", "rackId", "slotCnt", "memoryMb", "cpuPercent")
    mappings = [dict(zip(fields, row, strict=True)) for row in rows]
    forms = (rows, mappings, json.dumps(rows, indent="\t"))
    by_rows, *others = (read_inventory(write(form, f"{index}.json")) for index, form in enumerate(forms))
    assert others == [by_rows] * 2
    assert [node.name for node in by_rows.nodes] == ["r005h000", "r005h001", "r005h002", "r006h000"]
    assert by_rows.by_name["r005h002"].resources == {"cpu": 47.0, "memory": 177748.0 * 2**20}
    assert by_rows.delay("r005h000", "r005h002") < by_rows.delay("r005h000", "r006h000")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"racks": {"r": [{"count": 0, "supervisor.cpu.capacity": 1, "supervisor.memory.capacity.mb": 1}]}},
            "racks.r[0].count: must be",
        ),
        ({"racks": {"r": [{"supervisor.memory.capacity.mb": 1}]}}, "racks.r[0].supervisor.cpu.capacity: missing"),
        ({"racks": {"r": [{"supervisor.cpu.capacity": "x", "supervisor.memory.capacity.mb": 1}]}}, "must be a number"),
        (
            {"racks": {"r": [{"name": "a", "count": 2, "supervisor.cpu.capacity": 1, "supervisor.memory.capacity.mb": 1}]}},
            "racks.r[0].name: names 2 hosts",
        ),
        ({"racks": {}}, "racks: must hold at least 1"),
        ({"hosts": 3}, "racks: missing"),
        ([[1, "r", 1, -5, 100]], "[0].memoryMb: must be at least 0"),
        ([[1, "r", 1]], "[0]: must be an object with named fields"),
        ([], "must hold at least 1"),
        ("racks: {a: [", "is not YAML"),
    ],
)
def test_what_is_wrong_in_an_inventory_is_refused_by_its_place(content, message, write):
    with pytest.raises(InvalidInstanceError) as raised:
        read_inventory(write(content, "cluster.yaml"))
    assert message in str(raised.value)
    assert "cluster.yaml" in str(raised.value)


def test_a_topology_and_a_cluster_make_a_problem_that_is_solved(write, tmp_path):
    cluster = write(CLUSTER, "cluster.yaml")
    problem = storm_problem(write(CAPTURE, "capture.yaml"), cluster, weights={"supervisors": 2.0})
    assert problem.weights.supervisors == 2.0
    solution = edrp.solve(problem, "greedy", seed=1)
    assert solution.status == "feasible"
    assert {name: len(solution.deployment[name]) for name in solution.deployment} == {"sentences": 2, "split": 3, "count": 4}
    assert edrp.loads(problem.model_dump_json()) == problem
    code = tmp_path / "stormcode.ser"
    code.write_bytes(gzip.compress(encoded(word_count())))
    assert len(storm_problem(code, cluster).application.operators) == 3
    with pytest.raises(InvalidInstanceError, match="conf: goes with a serialized topology"):
        storm_problem(tmp_path / "capture.yaml", cluster, conf=code)


@pytest.mark.parametrize(("package", "read"), [("yaml", read_inventory), ("thrift.protocol.TBinaryProtocol", read_serialized)])
def test_a_missing_package_is_said_with_the_extra_that_brings_it(package, read, write, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BackendUnavailableError, match=r'pip install "edrp\[data\]"'):
        read(write("racks: {}", "cluster.yaml"))
