"""Files are written whole or not at all, in no other place than the one that was named, over nothing that others made."""

import errno
import fcntl
import os
import shutil
import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from edrp.core import files
from edrp.core.errors import InvalidInstanceError, UnwritableError
from edrp.core.files import read_regular, write_whole, writing
from edrp.core.folders import filling, new_folder


def make(kind: str, path: Path) -> Path:
    """Something that is no regular file."""
    if kind == "named pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "symbolic link":
        path.symlink_to(path.with_name("elsewhere"))
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    return path


@pytest.mark.parametrize("kind", ["named pipe", "folder", "symbolic link", "socket"])
def test_nothing_but_a_regular_file_is_ever_replaced(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    path = make(kind, Path("place"))
    before = path.lstat()
    with pytest.raises(UnwritableError, match=f"place: is a {kind}"):
        write_whole(path, "text")
    assert path.lstat() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["place"]


def test_a_device_is_not_replaced():
    with pytest.raises(UnwritableError, match="is a device"):
        write_whole("/dev/null", "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_link_that_somebody_planted_is_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("keep me")
    for name in ("out.json.partial", ".out.json.partial"):
        (tmp_path / name).symlink_to(secret)
    write_whole(tmp_path / "out.json", "text")
    assert (tmp_path / "out.json").read_text() == "text"
    assert secret.read_text() == "keep me"


def test_a_link_that_is_planted_while_we_write_is_not_followed(tmp_path):
    secret, out = tmp_path / "secret", tmp_path / "out.json"
    secret.write_text("keep me")
    with pytest.raises(UnwritableError, match="symbolic link"), writing(out):
        out.symlink_to(secret)
    assert secret.read_text() == "keep me"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.json", "secret"]


def test_a_file_is_replaced_only_where_that_is_meant(tmp_path):
    path = tmp_path / "out.json"
    write_whole(path, "one", replace=False)
    with pytest.raises(UnwritableError, match="exists already; choose another name, or replace it with --force"):
        write_whole(path, "two", replace=False)
    assert path.read_text() == "one"
    write_whole(path, "two")
    assert path.read_text() == "two"


def test_a_file_that_another_process_puts_there_at_the_last_moment_stays(tmp_path, monkeypatch):
    out, look = tmp_path / "out.json", files.refuse_target

    def look_too_early(path: Path, *, replace: bool = True) -> None:
        look(path, replace=replace)
        out.write_text("theirs")

    monkeypatch.setattr(files, "refuse_target", look_too_early)
    with pytest.raises(UnwritableError, match="exists already; choose another name, or replace it with --force"):
        write_whole(out, "ours", replace=False)
    assert out.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [out]


def test_where_files_have_one_name_only_they_are_written_too(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    write_whole(tmp_path / "out.json", "text", replace=False)
    assert (tmp_path / "out.json").read_text() == "text"
    assert list(tmp_path.iterdir()) == [tmp_path / "out.json"]


def test_a_file_has_the_permissions_of_any_new_file(tmp_path):
    write_whole(tmp_path / "out.json", "text")
    (tmp_path / "other").write_text("text")
    assert (tmp_path / "out.json").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize(
    ("place", "why"),
    [("x" * 300, "File name too long"), ("none/out.json", "there is no folder"), ("/sys/out.json", "cannot be written")],
)
def test_an_impossible_place_is_named_with_the_reason(tmp_path, place, why):
    with pytest.raises(UnwritableError, match=why) as raised:
        write_whole(tmp_path / place, "text")
    assert str(tmp_path / place) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_breaks_off_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "out.json").write_text("old")
    with pytest.raises(TypeError), writing(tmp_path / "out.json") as file:
        file.writelines([b"half", None])
    assert (tmp_path / "out.json").read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "out.json"]


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInstanceError, match="is a named pipe, not a regular file"):
        read_regular(tmp_path / "pipe")


# Folders of files that belong together


def fill(folder: Path, content: str, *names: str, force: bool = False) -> None:
    with filling(folder, force=force) as place:
        for name in names:
            write_whole(place / name, content)


def test_files_of_a_folder_appear_together_or_not_at_all(tmp_path):
    out = tmp_path / "new" / "out"
    with pytest.raises(UnwritableError), filling(out) as place:
        fill(place, "1", "a.csv", "none/b.csv")
    assert not out.exists()
    fill(out, "1", "a.csv", "b.csv")
    assert {file.name for file in out.glob("[!.]*")} == {"a.csv", "b.csv"}


def test_what_we_wrote_is_replaced_and_what_others_wrote_or_changed_is_not(tmp_path):
    fill(tmp_path, "1", "a.csv", "b.csv")
    fill(tmp_path, "2", "a.csv")
    (tmp_path / "b.csv").write_text("with my remarks")
    (tmp_path / "c.csv").write_text("mine")
    for name in ("b.csv", "c.csv"):
        with pytest.raises(UnwritableError, match=f"{name}: was not written by this command, or changed since"):
            fill(tmp_path, "3", "a.csv", name)
    assert [(tmp_path / name).read_text() for name in ("a.csv", "b.csv", "c.csv")] == ["2", "with my remarks", "mine"]
    fill(tmp_path, "3", "a.csv", "b.csv", "c.csv", force=True)
    fill(tmp_path, "4", "c.csv")
    assert [(tmp_path / name).read_text() for name in ("a.csv", "b.csv", "c.csv")] == ["3", "3", "4"]


def test_files_of_two_processes_do_not_mix(tmp_path):
    """While another one moves its files, ours wait."""
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with ThreadPoolExecutor() as pool:
        ours = pool.submit(fill, tmp_path, "ours", "a.csv", "b.csv")
        while not any(path.is_file() for path in tmp_path.glob(".*.partial/b.csv")):
            assert not ours.done()
        (tmp_path / "a.csv").write_text("theirs")
        os.close(other)
    assert isinstance(ours.exception(), UnwritableError)
    assert (tmp_path / "a.csv").read_text() == "theirs"
    assert not (tmp_path / "b.csv").exists()


def test_files_of_a_subfolder_take_their_places_too(tmp_path):
    def fill_subfolder(content: str) -> None:
        with filling(tmp_path) as place:
            (place / "sub").mkdir()
            write_whole(place / "sub" / "a.csv", content)

    for content in ("1", "2"):
        fill_subfolder(content)
        assert (tmp_path / "sub" / "a.csv").read_text() == content
    shutil.rmtree(tmp_path / "sub")
    (tmp_path / "sub").write_text("mine")
    with pytest.raises(UnwritableError, match="sub: is not a folder; choose another folder"):
        fill_subfolder("3")
    assert (tmp_path / "sub").read_text() == "mine"


@pytest.mark.parametrize("kind", ["named pipe", "folder", "symbolic link"])
def test_force_replaces_no_more_than_files(tmp_path, kind):
    make(kind, tmp_path / "a.csv")
    with pytest.raises(UnwritableError, match=f"is a {kind}"):
        fill(tmp_path, "1", "a.csv", "b.csv", force=True)
    assert not (tmp_path / "b.csv").exists()


def test_a_new_folder_takes_the_place_of_an_empty_one_only(tmp_path):
    (tmp_path / "out").mkdir()
    with new_folder(tmp_path / "out") as place:
        write_whole(place / "a", "1")
    with pytest.raises(UnwritableError, match="exists already"), new_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "a").read_text() == "1"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
