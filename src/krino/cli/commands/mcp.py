"""`krino mcp`: judging as tools of a coding agent, over stdio (Model Context Protocol)."""

from __future__ import annotations

from typing import Annotated

import typer

from krino.cli import options
from krino.errors import UsageProblem

Judges = Annotated[options.Texts, options.flag("Another judge to offer, as file.md or file.py:Class; its code is run.")]
_MODEL = "A model that judges; needs --max-cost or --max-tokens, a limit for the whole session."
Model = Annotated[str | None, options.flag(_MODEL, "--labeller", "-l", panel=options.MODEL)]


@options.llm_flags()
def mcp(
    ctx: typer.Context,
    judge: Judges = None,
    labeller: Model = None,
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
) -> None:
    """Serve judging to a coding agent over stdin and stdout (MCP): judge, explain, judges, rules."""
    from krino.cli.commands.serve import make_limited_labeller

    try:
        from krino.adapters.mcp import make_server
    except ImportError as missing:
        raise UsageProblem(f"krino mcp needs the package mcp ({missing}): pip install 'krino[mcp]'") from None
    chosen = "local" if labeller is None else make_limited_labeller(ctx, labeller, api_key_env, llm)
    make_server(judge or (), chosen).run("stdio")
