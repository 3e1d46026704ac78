from __future__ import annotations

from pathlib import Path

from kgtable.cli.demo import steps


def test_every_step_has_a_command_and_an_output_and_runs_the_same_twice(tmp_path: Path) -> None:
    first = list(steps(tmp_path / "one"))
    assert all(step.title and step.command and step.output.strip() for step in first)
    again = list(steps(tmp_path / "two"))
    assert [step.output for step in again] == [step.output for step in first]
