"""Krino's judges inside other evaluation frameworks, one module for each: `from krino.adapters.mlflow import scorer`.

Every module needs the package of its framework (`pip install 'krino[mlflow]'`) and is loaded by nothing else. All of
them read a judgement through `fields` and judge through `SharedJudge`, so the same holds everywhere: a case that was
not judged is an error in the framework's own terms and never a number, and a status is written beside the scores.
"""

from krino.adapters.shared_judge import SharedJudge as SharedJudge
from krino.adapters.verdict_fields import Field as Field
from krino.adapters.verdict_fields import fields as fields
from krino.adapters.verdict_fields import status as status
