"""A process that tries programs of host operations: a line of JSON each in and out, as worker.py
has them; ``plan`` is ``{"opt_level", "target"}``."""

from __future__ import annotations

import json
import sys
import traceback

from generate import Recorded
from host_generate import generate_host
from host_trial import HostTrial


def main() -> None:
    """Until the input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        task = json.loads(line)
        choices = Recorded(task.get("choices", ()), task.get("seed"))
        answer = {"id": task["id"]}
        try:
            program, arguments = generate_host(choices, task.get("results"))
            answer["choices"] = choices.made
            plan = task.get("plan", {})
            trial = HostTrial(
                program, arguments, task.get("data", 0), plan.get("opt_level", 0),
                plan.get("target", "cpu"),
            )  # fmt: skip
            failure = trial.run() if program.body.yields else None
            answer["tried"] = dict(trial.tried)
            if failure:
                answer.update(failure._asdict())
        except Exception as error:
            told = f"{error!r}\n{traceback.format_exc()}"
            answer.update(kind="python", where="", data="", detail=told)
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
