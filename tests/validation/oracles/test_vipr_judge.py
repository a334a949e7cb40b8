"""The judge of VIPR files on a file written by hand, and on small faults in it."""

import pytest

from edrp.validation.oracles.vipr_judge import Vipr

FILE = """% 2 x + 2 y ≥ 3 in integers: x + 3 y is 2 at least, at (2, 0)
VER 1.0
VAR 2 x y
INT 2 0 1
OBJ min 2  0 1  1 3
CON 3 2
x0 G 0  1  0 1
y0 G 0  1  1 1
sum G 3  2  0 2  1 2
RTP range 2 2
SOL 1
best 1  0 2
DER 6
half G 2  2  0 1  1 1  { rnd 1  2 1/2 } -1
no L 0  1  1 1  { asm } -1
yes G 1  1  1 1  { asm } -1
left G 2 OBJ { lin 2  3 1  1 2 } -1
right G 3 OBJ { lin 2  0 1  5 3 } 8
all G 2 OBJ { uns 6 4  7 5 } -1
"""
INFEASIBLE = """VER 1.0
VAR 1 x INT 1 0 OBJ min 0
CON 2 1
top L 1/3  1 0 1
low G 1/4  1 0 3
RTP infeas SOL 0 DER 3
up G 1  1 0 1  { rnd 1  1 1/3 } -1
down L 0  1 0 1  { rnd 1  0 1 } -1
none G 1  0  { lin 2  2 1  3 -1 } -1
"""


def test_right_files_are_accepted():
    assert Vipr(FILE).goal == 2
    assert Vipr(INFEASIBLE).goal is None


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("all G 2 OBJ", "all G 2  2  0 1  1 3"),  # as `viprchk`, which then says "Failed to derive lower bound"
        ("RTP range 2 2", "RTP range 5/2 3"),
        ("best 1  0 2", "best 1  0 1"),
        ("SOL 1\nbest 1  0 2", "SOL 0"),
        ("left G 2 OBJ", "left G 3 OBJ"),
        ("3 1  1 2 }", "3 1  1 -2 }"),
        ("3 1  1 2 }", "3 1  3 0 }"),
        ("uns 6 4  7 5", "uns 6 5  7 4"),
        ("uns 6 4  7 5", "lin 1  7 1"),
        ("5 3 } 8", "5 3 } 7"),
        ("rnd 1  2 1/2", "rnd 1  2 1"),
        ("{ asm } -1\nyes", "{ sol } -1\nyes"),
        ("INT 2 0 1", "INT 1 0"),
        ("x0 G 0  1  0 1", "x0 G 0  2  0 1  1 1"),
    ],
)
def test_faults_are_refused(right, wrong):
    assert FILE.count(right) == 1
    with pytest.raises(AssertionError):
        Vipr(FILE.replace(right, wrong))


def test_a_contradiction_must_be_one():
    with pytest.raises(AssertionError):
        Vipr(INFEASIBLE.replace("none G 1 ", "none G 0 "))
