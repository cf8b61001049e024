"""Names the files of one restarted endpoint beside the store: journal, lock and log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RestartPaths:
    """`<store>.restart-<endpoint>.json` and its companions."""

    stem: Path
    endpoint: str

    @property
    def journal(self) -> Path:
        """Is there while something is to be restored."""
        return self.stem.with_name(self.stem.name + ".json")

    @property
    def lock(self) -> Path:
        """Held by whoever may touch the server: the sweep, or one restorer after its death."""
        return self.stem.with_name(self.stem.name + ".lock")

    @property
    def log(self) -> Path:
        """What the user's commands and the guardian said."""
        return self.stem.with_name(self.stem.name + ".log")


def restart_paths(store_path: Path, endpoint: str) -> RestartPaths:
    """The files of one endpoint; its name is fit for a file name (the config sees to it)."""
    return RestartPaths(store_path.with_name(f"{store_path.name}.restart-{endpoint}"), endpoint)


def paths_of_journal(journal: Path, prefix: str | None = None) -> RestartPaths:
    """The files of one journal; `prefix` is what its name begins with before the endpoint's."""
    name = journal.name.removesuffix(".json")
    endpoint = name.removeprefix(prefix) if prefix is not None else name.rpartition(".restart-")[2]
    return RestartPaths(journal.with_name(name), endpoint)


def journals_beside(store_path: Path) -> list[RestartPaths]:
    """Every journal that lies beside a store, also of endpoints that its config no longer has."""
    prefix = f"{store_path.name}.restart-"
    try:
        found = sorted(p for p in store_path.parent.iterdir() if p.name.startswith(prefix) and p.suffix == ".json")
    except OSError:
        return []
    return [paths_of_journal(path, prefix) for path in found]
