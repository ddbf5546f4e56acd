"""An MCP server for coding agents: `krino mcp`. Its tools judge a case, explain a text, and list judges and rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from krino import __version__
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import describe_problem
from krino.contract import Labeller
from krino.errors import KrinoError, UsageProblem
from krino.judges.describing import describe
from krino.judges.registry import judge_names, load_judge
from krino.text.guessing import did_you_mean

with needs("mcp"):
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

_INSTRUCTIONS = """Krino judges the work of language models: answers against their sources (rag), agent traces
(efficiency), citations of Belgian decisions, tone and more. Call `judges` for the judges and the fields of their cases,
then `judge` with one case. A score comes with the rule that gave it; `rules` says what each rule means. A case that
cannot be judged is an error and has no score: never make one up."""


def make_server(judges: Sequence[str] = (), labeller: str | Labeller = "local") -> MCPServer[Any]:
    """An MCP server over stdio or HTTP. `judges`: further judges, whose code may be run; `labeller`: of all cases."""
    server: MCPServer[Any] = MCPServer("krino", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    tools = _Tools(judges, labeller)
    for tool in (tools.judge, tools.explain, tools.judges, tools.rules):
        server.tool()(tool)
    return server


class _Tools:
    """The tools. Only judges that were named at the start can be used: a client cannot have a file run."""

    def __init__(self, judges: Sequence[str], labeller: str | Labeller) -> None:
        self._addresses = {name: name for name in judge_names()}
        self._addresses |= {load_judge(address).name: address for address in judges}
        self._labeller = labeller
        self._shared: dict[str, SharedJudge] = {}

    async def judge(self, judge: str, case: dict[str, Any]) -> dict[str, Any]:
        """Judge one case. Returns the verdict, and for each of its fields the rule that decided it.

        Args:
            judge: a judge's name, as `judges` lists it (rag, efficiency, citation, tone, …).
            case: the fields of the case, as `judges` lists them.
        """
        shared = self._open(judge)
        judgement = await shared.adecide(case, by="mcp")
        if judgement.status != "ok":
            raise ToolError(describe_problem(judgement))
        found: dict[str, Any] = orjson.loads(judgement.to_json())
        shown = ("judge", "judge_version", "verdict", "roll_up", "rules", "evidence", "findings", "labeller")
        return {name: found[name] for name in shown if found.get(name) not in (None, [], {})}

    def explain(self, what: str, text: str) -> dict[str, Any]:
        """Explain how a judge understands a text: a Belgian court name, a case number or an ECLI.

        Args:
            what: court, case-number or ecli.
            text: the text to explain.
        """
        known = {name: of for judge in self._addresses for name, of in self._load(judge).explainers().items()}
        if what not in known:
            raise ToolError(f"nothing explains `{what}`{did_you_mean(what, known)}; there is {', '.join(known)}")
        return dict(next(iter(known[what]([text]))))

    def judges(self) -> list[dict[str, Any]]:
        """List the judges: what each is for, the fields of its cases, and the fields of its verdicts."""
        shown = ("name", "version", "summary", "inputs", "outputs")
        return [{name: described[name] for name in shown} for described in map(describe, self._addresses.values())]

    def rules(self, judge: str) -> dict[str, str]:
        """List the rules of a judge: the id of each, as verdicts name it, and what it says.

        Args:
            judge: a judge's name, as `judges` lists it.
        """
        return dict(self._load(judge).rules)

    def _open(self, name: str) -> SharedJudge:
        """The judge with its labeller, made once."""
        if name not in self._shared:
            self._shared[name] = SharedJudge(self._load(name), labeller=self._labeller)
        return self._shared[name]

    def _load(self, name: str) -> Any:
        """The judge of a name that was given at the start."""
        if name not in self._addresses:
            known = sorted(self._addresses)
            raise ToolError(f"there is no judge `{name}`{did_you_mean(name, known)}; there are {', '.join(known)}")
        try:
            return load_judge(self._addresses[name])
        except (KrinoError, UsageProblem) as problem:
            raise ToolError(str(problem)) from None
