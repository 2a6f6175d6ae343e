"""The pages that explain the project: links that lead somewhere, and facts that code can tell."""

import re
import tomllib

import pytest
import yaml

import aezsl
from tests.helpers import ROOT

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / ".github").glob("*.md")),
    *(page for folder in ("conf", "src", "tests") for page in sorted((ROOT / folder).rglob("README.md"))),
    ROOT / "data/README.md",
    *sorted((ROOT / "data/results").glob("*.md")),
    ROOT / "data/01_raw/README.md",
]
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def anchors(page):
    """What links may name behind a page's #: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page} links to {path}"
        if anchor:
            assert anchor in anchors(target), f"{page} links to {path}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_of_code_that_a_page_names_are_there(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    files = [
        f"/{path.relative_to(ROOT).as_posix()}" for part in ("src", "tests") for path in (ROOT / part).rglob("*.py")
    ]
    named = [] if page.name == "CHANGELOG.md" else re.findall(r"`([\w./-]+\.py)`", text)
    assert [name for name in named if not any(file.endswith(f"/{name}") for file in files)] == []


def test_the_dockerfile_of_the_page_installs_this_version():
    page = (ROOT / "src/aezsl/serving/DEPLOY.md").read_text(encoding="utf-8")
    assert re.findall(r"pip install .* aezsl==(\S+)", page) == [aezsl.__version__]


def test_the_readme_leads_to_every_other_page():
    assert [
        page for page in PAGES[1:] if f"({page.relative_to(ROOT)})" not in README and page.name == "README.md"
    ] == []


def test_the_readme_and_the_checks_run_the_same_tests():
    commands = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("pytest ")]
    assert len(commands) == 1
    assert f"pip install -e '.[test]' && {commands[0]}\n" in README


def test_the_page_of_the_code_has_every_package_in_the_order_of_the_layers():
    page = (ROOT / "src/aezsl/README.md").read_text(encoding="utf-8")
    packages = page.partition("## Packages")[2].partition("\n## ")[0]
    rows = [
        re.findall(r"`(\w+)(?:/|\.py)`", row.split(" | ")[0]) for row in packages.splitlines() if row.startswith("| `")
    ]
    layers = PYPROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    assert rows == [layer.split(" | ") for layer in layers]
    package = ROOT / "src/aezsl"
    files = [path.name for path in package.glob("*.py") if path.name != "__init__.py"]
    folders = [f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").exists()]
    assert [name for name in files + folders if f"`{name}`" not in packages] == []


def test_what_to_cite_is_of_this_version():
    citation = yaml.safe_load((ROOT / ".github/CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == aezsl.__version__
    assert citation["preferred-citation"]["year"] == 2019


def test_hooks_before_a_commit_are_the_checks_and_fetch_nothing():
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    checks = (ROOT / ".ci/run").read_text()
    for hook in repositories[0]["hooks"]:
        assert hook["language"] == "system"
        assert f"\n{hook['entry']}" in checks
