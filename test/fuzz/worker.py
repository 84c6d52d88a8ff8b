"""A process that tries programs: a line of JSON each in and out.

In: ``{"id", "seed" or "choices", "data": seed of the data, "plan": fields of trial.Plan}``. Out: the
choices, what was tried, and the fields of a trial.Failure if there is one; ``restart`` asks for
another process.
"""

from __future__ import annotations

import json
import sys

from generate import Recorded, generate
from trial import CPU, Plan, Trial


def main() -> None:
    """Until the input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        task = json.loads(line)
        choices = Recorded(task.get("choices", ()), task.get("seed"))
        answer = {"id": task["id"]}
        try:
            program = generate(choices)
            answer["choices"] = choices.made
            if program.results:
                trial = Trial(program, task.get("data", 0), Plan(**task.get("plan", {})))
                failure = trial.run()
                answer["tried"] = dict(trial.tried)
                if failure:
                    answer.update(failure._asdict())
                    del answer["arguments"]
                    # A GPU that a kernel has failed on is lost to its process.
                    answer["restart"] = trial.plan.target != CPU
        except Exception as error:
            import traceback

            answer.update(
                kind="python", where="", data="", detail=f"{error!r}\n{traceback.format_exc()}"
            )
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
