"""From the official distribution of a data set, as it lies on disk, to a benchmark folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from kgtable.errors import BenchmarkError
from kgtable.evaluation.loaders.finance import load_finqa, load_tatqa
from kgtable.evaluation.loaders.hitab import load_hitab
from kgtable.evaluation.loaders.multitableqa import load_multitableqa
from kgtable.evaluation.loaders.spider import load_spider
from kgtable.evaluation.loaders.wikipedia import (
    load_fetaqa,
    load_ottqa,
    load_tabfact,
    load_wikitablequestions,
)

LOADERS: Mapping[str, Callable[[Path, Path], int]] = MappingProxyType(
    {
        "fetaqa": load_fetaqa,
        "finqa": load_finqa,
        "hitab": load_hitab,
        "multitableqa": load_multitableqa,
        "ottqa": load_ottqa,
        "spider": load_spider,
        "tabfact": load_tabfact,
        "tatqa": load_tatqa,
        "wikitablequestions": load_wikitablequestions,
    }
)


def load_dataset(name: str, source: Path, out: Path) -> int:
    """Write the benchmark folder `out` from the distribution in `source`; how many questions it has.

    Raises `BenchmarkError` for an unknown name, a file that is absent or laid out otherwise, and where
    the distribution holds no question.
    """
    if name not in LOADERS:
        raise BenchmarkError(f"There is no loader “{name}”.", hint=f"There are: {', '.join(LOADERS)}.")
    if not source.is_dir():
        raise BenchmarkError(
            f"{source} is not a folder.", hint="Unpack the distribution and give its folder."
        )
    count = LOADERS[name](source, out)
    if not count:
        raise BenchmarkError(f"{source} holds no question of {name}.", hint="Is it the right folder?")
    return count
