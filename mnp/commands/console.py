"""Where words go: standard output carries data only, standard error everything said to a person.

Colour and live display come with a terminal and leave with a pipe; rich honours NO_COLOR and TERM=dumb.
"""

from __future__ import annotations

from rich.console import Console

from mnp.commands.errors import CommandError

data = Console(markup=False, highlight=False, emoji=False)
people = Console(stderr=True, markup=False, highlight=False, emoji=False)


def emit(text: str) -> None:
    """Write data to standard output exactly as it is: never wrapped, coloured or shortened."""
    data.out(text, highlight=False)


def say(text: str, *, style: str | None = None) -> None:
    """Write a line for a person to standard error."""
    people.print(text, style=style, soft_wrap=True)


def complain(error: CommandError) -> None:
    """Show what went wrong and what to do about it."""
    say(f"error: {error}", style="bold red")
    if error.fix:
        say(f"fix: {error.fix}")
