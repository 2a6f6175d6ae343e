"""A disk that is really full; ``python -m tests.campaign --full`` fills one at every write of a command."""

import subprocess

import pytest

from tests.campaign.kills import write_images

RUN = ("run", "--env=own", "--pipeline=ingestion")


@pytest.fixture
def small_disk(make_project):
    """A project whose results have 200 kB, and what gives them more; only root may make a file system."""
    project = make_project()
    write_images(project.folder)
    place = project.folder / "data/03_primary"
    place.mkdir(parents=True)

    def mount(options):
        return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True)

    try:
        made = mount("size=8k")
    except OSError:
        pytest.skip("no file system can be mounted here")
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    yield project, place, lambda: mount("remount,size=20m")
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_is_one_sentence_with_the_path_and_the_run_resumes(small_disk):
    project, place, make_room = small_disk
    full = project.kedro(*RUN, check=False)
    assert full.returncode == 1
    assert sum(str(place) in line for line in full.stderr.splitlines()) == 1
    assert not any(mark in full.stderr for mark in ("Traceback", "─"))
    assert not [path for path in place.rglob(".*") if path.is_file()]
    assert make_room().returncode == 0
    project.kedro(*RUN)
    assert list(place.rglob("images.parquet"))
