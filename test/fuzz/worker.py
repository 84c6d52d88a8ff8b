"""A process that tries programs: a line of JSON each in (``{"id", "choices", "seed"}``) and out."""

from __future__ import annotations

import json
import sys

from generate import Recorded, generate
from trial import try_program


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
                failure = try_program(program, task.get("data", 0), task.get("opt", 0))
                if failure:
                    answer.update(failure._asdict())
                    del answer["arguments"]
        except Exception as error:
            import traceback

            answer.update(
                kind="python", where="", data="", detail=f"{error!r}\n{traceback.format_exc()}"
            )
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
