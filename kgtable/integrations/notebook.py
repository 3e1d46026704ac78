"""``%%sparql`` in IPython and Jupyter, after ``%load_ext kgtable``.

Graphs, answers, retrievals, tables and results of programs show themselves as HTML without it. Interface:
https://ipython.readthedocs.io, "Defining custom magics".
"""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any

import kgtable
from kgtable.errors import KgtableError, UsageError


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%sparql`` in an IPython shell; errors of kgtable show as one line there."""
    shell.register_magic_function(partial(sparql, shell), magic_kind="cell", magic_name="sparql")
    shell.set_custom_exc((KgtableError,), _one_line)


def sparql(shell: Any, line: str, cell: str) -> Any:
    """Run the SPARQL of a cell: a data frame, a truth value, or an rdflib graph.

    The line is ``%%sparql GRAPH [-o NAME]``: GRAPH is the variable of an open graph or a graph directory, NAME a
    variable that keeps the result instead of showing it. Raises `UsageError` and what `KnowledgeGraph.sparql` raises.
    """
    words = shlex.split(line)
    output = ""
    if len(words) == 3 and words[1] in ("-o", "--output") and words[2].isidentifier():
        output = words.pop()
        words.pop()
    if len(words) != 1:
        raise UsageError(
            "The line of the magic cannot be read.", hint="Write %%sparql GRAPH, or %%sparql GRAPH -o NAME."
        )
    result = _run(shell.user_ns, words[0], cell)
    if not output:
        return result
    shell.user_ns[output] = result
    return None


def _run(variables: dict[str, Any], given: str, query: str) -> Any:
    known = variables.get(given)
    if isinstance(known, kgtable.KnowledgeGraph):
        return known.sparql(query)
    if known is not None and not isinstance(known, str):
        raise UsageError(f"{given} is not a graph.", hint="Name an open graph, or the directory of one.")
    with kgtable.open(known or given) as graph:
        return graph.sparql(query)


def _one_line(shell: Any, kind: type, error: BaseException, trace: Any, tb_offset: int | None = None) -> None:
    print(f"{type(error).__name__}: {error}")  # noqa: T201 - the output of the cell
