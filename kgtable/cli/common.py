"""Options, verbosity and the progress line that the commands share."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias

import click
from click.shell_completion import CompletionItem

from kgtable.errors import KgtableError, UsageError
from kgtable.graph.remote.dialects import DIALECTS
from kgtable.graph.writers import Format
from kgtable.storage import output_file, refuse_within_graph
from kgtable.values.text import harmless_text

if TYPE_CHECKING:
    from kgtable.answering.charts import Chart

FORMATS = ", ".join(Format)
"""The names of the RDF formats, for help texts."""

DEBUG = 2
"""The verbosity (``-vv``) at which an error shows its traceback."""

OUTPUTS = frozenset({"output", "report", "json_file", "plot", "trace"})
"""The options of all commands that name a file to write."""

_VERBOSITY = "kgtable.verbosity"
_LEVELS = {-1: logging.ERROR, 1: logging.INFO, DEBUG: logging.DEBUG}


def verbosity() -> int:
    """The verbosity of the running command: -1 with ``-q``, the number of ``-v``, 0 without both."""
    context = click.get_current_context(silent=True)
    return 0 if context is None else context.meta.get(_VERBOSITY, 0)


def say(text: object = "", *, nl: bool = True, err: bool = False, head: Mapping[str, Any] | None = None) -> None:
    """Print text from files, models and servers: without control characters where people read it.

    That is on standard error, and on standard output where it is a terminal. What goes to a pipe or a
    file stays as it is. `head` is the style of the first line on a terminal, unless ``NO_COLOR`` is set.
    """
    if err or sys.stdout.isatty():
        text = harmless_text(str(text))
    if head and (sys.stderr if err else sys.stdout).isatty() and not os.environ.get("NO_COLOR"):
        first, *rest = str(text).split("\n")
        text = "\n".join((click.style(first, **head), *rest))
    click.echo(text, nl=nl, err=err, color=True)  # which leaves the text alone


HEADLINE: Mapping[str, Any] = {"bold": True}
FAULT: Mapping[str, Any] = {"fg": "red"}


def note(text: str) -> None:
    """Print a remark on standard error, unless the command is quiet."""
    if verbosity() >= 0:
        say(text, err=True)


@contextmanager
def text_output(output: str) -> Iterator[Callable[[str], object]]:
    """A function that writes text to the file of ``--output``, or to standard output for ``-``.

    The file appears when the block ends without an error.
    """
    if output == "-":
        yield lambda text: say(text, nl=False)
        return
    with output_file(Path(output)) as handle:
        yield lambda text: handle.write(text.encode("utf-8", "surrogatepass"))


def _set_verbosity(context: click.Context, option: click.Parameter, value: int) -> None:
    if not value:
        return
    given = context.meta.get(_VERBOSITY, 0)
    wanted = -1 if option.name == "quiet" else given + value
    if given and (given < 0) != (wanted < 0):
        raise click.UsageError("-v and -q exclude each other.", context)
    context.meta[_VERBOSITY] = wanted
    context.with_resource(_logging(_LEVELS[min(wanted, DEBUG)]))


@contextmanager
def _logging(level: int) -> Iterator[None]:
    """Print what the package logs from `level` on, to standard error."""
    logger = logging.getLogger("kgtable")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    before, propagated = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        logger.propagate = propagated


def verbosity_options() -> list[click.Option]:
    """``-v`` and ``-q``, which every command takes."""
    shared: dict[str, Any] = {"expose_value": False, "callback": _set_verbosity, "is_eager": True}
    return [
        click.Option(
            ["-v", "--verbose"],
            count=True,
            help="Log progress to standard error; -vv adds details and tracebacks.",
            **shared,
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Print results and errors only.", **shared),
    ]


TERMINATED = 128 + signal.SIGTERM


def _end_in_order_when_told() -> None:
    """Make SIGTERM an exit like any other, so that temporary files are removed."""
    here = threading.current_thread() is threading.main_thread()
    if here and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))


class Command(click.Command):
    """A command that takes ``-v`` and ``-q``, and shuts down cleanly on a signal to end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += verbosity_options()

    def invoke(self, ctx: click.Context) -> Any:
        for option in OUTPUTS & ctx.params.keys():
            if ctx.params[option] not in (None, "-"):
                refuse_within_graph(Path(ctx.params[option]))
        if self.name != "serve":  # which ends in an order of its own
            _end_in_order_when_told()
        return super().invoke(ctx)


class ProgressLine:
    """One line on standard error with how far a stage is, how fast, and how long it takes still.

    It is written over ten times a second at most; nothing is written where standard error is not a terminal, or with
    ``-q``. `clock` gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._shown = False
        self._watched = sys.stderr.isatty() and verbosity() >= 0
        self._clock = clock
        self._stage, self._began, self._from, self._written = "", 0.0, 0, 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self._watched:
            return
        now = self._clock()
        if stage != self._stage:
            self._stage, self._began, self._from = stage, now, done
        elif now - self._written < 0.1:
            return
        self._shown, self._written = True, now
        rate = (done - self._from) / (now - self._began) if now - self._began >= 1 else 0.0
        pace = f", {rate:,.0f} a second, {(total - done) / rate:,.0f} s left" if rate >= 1 else ""
        click.echo(f"\r{stage}: {done:,} of {total:,}{pace}\x1b[K", nl=False, err=True)

    def close(self) -> None:
        """Remove the line."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def option_group(*options: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that gives a command several options, in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


json_option = click.option("--json", "format", flag_value="json", help="The same as --format json.")
plot_option = click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw the numbers found to this file: .svg, .png or .json."
)


def draw(chart: Chart | None, path: Path) -> None:
    """Write a chart to a file, or say that there is none."""
    if chart is None:
        note(f"Note: no chart was written to {path}: there are no numbers of one unit to compare.")
    else:
        chart.save(path)


_Completion: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completing(names: Callable[[], Iterable[str]]) -> _Completion:
    """What completes names in the shell; they are read when it asks."""
    return lambda context, option, begun: [CompletionItem(name) for name in names() if name.startswith(begun)]


def _methods() -> Iterable[str]:
    from kgtable.systems.methods import METHODS

    return METHODS


def _presentations() -> Iterable[str]:
    from kgtable.answering.presentations import PRESENTATIONS

    return PRESENTATIONS


def _prompts() -> Iterable[str]:
    from kgtable.answering.prompting import PromptSetting

    return [setting.value for setting in PromptSetting]


complete_methods = _completing(_methods)
"""Completes the names of retrieval methods in the shell."""


def _tables(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem]:
    import kgtable

    place = context.params.get("kg") or os.environ.get("KGTABLE_KG")
    try:
        with kgtable.open(place or ".") as graph:
            return [CompletionItem(id) for id in graph.tables if id.startswith(begun)]
    except KgtableError:
        return []


_KG: dict[str, Any] = {"type": click.Path(path_type=Path), "envvar": "KGTABLE_KG", "show_envvar": True}
kg_option = click.option("--kg", required=True, help="The directory of the graph.", **_KG)
optional_kg_option = click.option("--kg", help="The directory of the graph.", **_KG)
allow_hosts_option = click.option(
    "--allow-host", "allow_hosts", multiple=True, metavar="NAME", help="A further name this server answers to."
)
mapping_option = click.option(
    "--mapping", type=click.Path(path_type=Path), help="A CSV or XLSX file of decisions about columns."
)
conversion_options = option_group(
    click.option(
        "--workers",
        type=click.IntRange(1),
        default=os.cpu_count() or 1,
        help="Processes that convert tables.  [default: one for each processor]",
    ),
    click.option(
        "--scheduler", metavar="ADDRESS", help="Convert on the workers of this Dask scheduler, such as tcp://host:8786."
    ),
    click.option(
        "--parts",
        metavar="URL",
        help="With --scheduler: the folder or fsspec URL that the workers write to; what is there is not made again.",
    ),
    click.option(
        "--file-seconds",
        metavar="SECONDS",
        type=click.IntRange(1),
        help="Processor seconds for reading one file, beside one for each MiB and half a one for each page of a PDF."
        "  [default: 30, more for a large one]",
    ),
    click.option(
        "--encoding", metavar="NAME", help="Encoding of text files, such as windows-1251; by default it is detected."
    ),
)
report_option = click.option(
    "--report", type=click.Path(path_type=Path), help="Write the conversion report here: .json, or text."
)
dialect_option = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS), case_sensitive=False),
    default="generic",
    show_default=True,
    help="The engine behind the address.",
)
method_option = click.option(
    "--method",
    default="hybrid",
    show_default=True,
    shell_complete=complete_methods,
    help="The retrieval method, with its options as NAME:OPTION=VALUE.",
)
tables_option = click.option(
    "--table", "tables", multiple=True, help="Look at this table alone, by its id; repeat for several."
)
defuse_option = click.option(
    "--defuse", is_flag=True, help="In CSV, put ' before what a spreadsheet would run as a formula."
)
table_option = click.option("--table", shell_complete=_tables, help="One table, by its id.")
presentation_option = click.option(
    "--presentation", shell_complete=_completing(_presentations), help="How the evidence is laid out for the model."
)
prompt_option = click.option("--prompt", shell_complete=_completing(_prompts), help="The prompt setting.")


def standard_input(paths: Sequence[Path]) -> list[Any]:
    """The paths, with standard input in the place of ``-``."""
    return [sys.stdin.buffer if str(path) == "-" else path for path in paths]


def refuse_standard_input(paths: Sequence[Path]) -> None:
    """Raise `UsageError` for ``-`` among the paths of a command that needs files."""
    if any(str(path) == "-" for path in paths):
        raise UsageError(
            "A graph is built from files, not from standard input.",
            hint="Save it to a file first: the next build compares it with what was read.",
        )


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Raise `UsageError` where the text of a file or of standard input cannot be read in the block."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8.", hint="Save it as UTF-8.") from error
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror or error}.") from error


def text_of_input() -> str:
    """The text on standard input. Raises `UsageError` where it cannot be read."""
    with reading("Standard input"):
        return sys.stdin.read()


def lines_of(file: IO[str]) -> Iterator[str]:
    """The lines of a file. Raises `UsageError` where it cannot be read."""
    while True:
        with reading(file.name):
            line = file.readline()
        if not line:
            return
        yield line
