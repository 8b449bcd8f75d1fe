"""What models learn from each solution: trained on every safe table, beside one trained on the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.core.errors import SfumatoError, WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.policy_argument import AnyPolicy, load_policy
from sfumato.journey.protect_file import protect_file
from sfumato.journey.table_argument import open_original, open_table
from sfumato.system.private_folder import private_folder
from sfumato.usefulness.model_figures import ModelFigures, model_figures
from sfumato.usefulness.paired_tables import read_tables


@dataclass(frozen=True)
class ModelScores:
    """How well a column is told from the others by models, search by search; `failed` says why not."""

    target: str
    figures: Mapping[str, ModelFigures]
    failed: Mapping[str, str]


def model_scores(
    data: AnyTable,
    policy: AnyPolicy,
    searches: Sequence[str],
    target: str,
    *,
    progress: Progress | None = None,
) -> ModelScores:
    """Returns how well models tell `target` that were trained on what each search publishes.

    Every safe table is written to a private folder, judged from its bytes, learnt from, and gone afterwards.
    """
    rules, show = load_policy(policy), progress or silent
    figures: dict[str, ModelFigures] = {}
    failed: dict[str, str] = {}
    for search in searches:
        searched = rules.with_(search=search)
        try:
            with private_folder() as private:
                safe = private / "safe.csv"
                protect_file(data, searched, safe, progress=show)
                tables = read_tables(
                    open_original(data, policy=searched),
                    open_table(safe, policy=searched),
                    searched,
                    progress=show,
                )
                show(f"learning from {search}", 0)
                figures[search] = model_figures(tables, target)
        except WrongCall:  # the column, or the package that is lacking: the same for every search
            raise
        except SfumatoError as error:
            failed[search] = f"{error.message}. {error.remedy}".strip()
    return ModelScores(target, figures, failed)
