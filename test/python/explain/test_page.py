"""``explain`` as a page: well-formed, alone, and complete."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import redfuse
from redfuse.explain.candidates import Candidate
from redfuse.explain.page import MOST_OF_GRAPH, page, place

# A norm of rows, then sums of columns: two kernels or more on a GPU.
TEXT = """
func.func @norms(%x: tensor<512x1024xf32>) -> (tensor<1024xf32>, tensor<512x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %s = linalg.reduce ins(%x : tensor<512x1024xf32>) outs(%f : tensor<512xf32>) dimensions = [1]
    (%a: f32, %b: f32) { %c = arith.addf %a, %b : f32 linalg.yield %c : f32 }
  %g = tensor.empty() : tensor<512x1024xf32>
  %w = linalg.broadcast ins(%s : tensor<512xf32>) outs(%g : tensor<512x1024xf32>) dimensions = [1]
  %n = linalg.div ins(%x, %w : tensor<512x1024xf32>, tensor<512x1024xf32>)
    outs(%g : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %h = tensor.empty() : tensor<1024xf32>
  %i = linalg.fill ins(%zero : f32) outs(%h : tensor<1024xf32>) -> tensor<1024xf32>
  %t = linalg.reduce ins(%n : tensor<512x1024xf32>) outs(%i : tensor<1024xf32>) dimensions = [0]
    (%a: f32, %b: f32) { %c = arith.addf %a, %b : f32 linalg.yield %c : f32 }
  return %t, %n : tensor<1024xf32>, tensor<512x1024xf32>
}
"""
SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    """The page, whose text is XML but for its first line; it reads nothing from elsewhere."""
    first, _, rest = text.partition("\n")
    assert first == "<!DOCTYPE html>"
    root = ElementTree.fromstring(rest)
    for element in root.iter():
        assert element.tag != "script" and not {"src", "href"} & set(element.attrib)
    return root


def compiled(target: str) -> redfuse.Executable:
    return redfuse.compile(TEXT, target=target, options={"cache": False})


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a"])
def test_every_kernel_has_a_box_and_its_text(target: str) -> None:
    exe = compiled(target)
    kernels = exe.explain(json=True)["kernels"]
    root = parsed(exe.explain(html=True))
    boxes = ["".join(box.itertext()) for box in root.iter(f"{SVG}g")]
    for kernel in kernels:
        assert any(kernel["name"] in box for box in boxes)
        details = root.find(f".//details[@id='kernel-{kernel['name']}']")
        assert details is not None and "cascade over" in "".join(details.itertext())
    assert any("arg0" in box for box in boxes) and any("results" in box for box in boxes)
    has_times = "Predicted times" in "".join(root.itertext())
    assert has_times == target.startswith("cuda")


def test_what_kernels_hand_on() -> None:
    kernels = compiled("cuda:sm_90a").explain(json=True)["kernels"]
    assert len(kernels) > 1
    names = [kernel["name"] for kernel in kernels]
    for number, kernel in enumerate(kernels):
        for edge in kernel["flow"]["from"]:
            assert edge["name"] == "arg0" or edge["name"] in names[:number]
            assert edge["bytes"] > 0
    assert kernels[0]["flow"]["from"][0] == {"name": "arg0", "bytes": 4 * 512 * 1024}
    assert kernels[-1]["flow"]["returns"]


def made(name: str, *sources: str, returns: bool = False) -> dict[str, Any]:
    read = [{"name": source, "bytes": None} for source in sources]
    return {
        "name": name, "source": "<a & b>.mlir:1:1", "cascades": [], "inputs": [],
        "flow": {"from": read, "returns": returns},
    }  # fmt: skip


def test_places_are_below_what_is_read() -> None:
    kernels = [made("a", "arg0"), made("b", "arg1", "a"), made("c", "arg0", returns=True)]
    nodes = place(kernels)
    levels = {name: node.level for name, node in nodes.items()}
    assert levels == {"arg0": 0, "a": 1, "arg1": 0, "b": 2, "c": 1, "": 3}
    assert len({(node.column, node.level) for node in nodes.values()}) == len(nodes)


def test_texts_are_escaped_and_long_programs_have_no_graph() -> None:
    kernels = [made(f"k{i}", "arg0") for i in range(MOST_OF_GRAPH + 1)]
    text = page({"kernels": kernels, "refused": []}, "a<b", "cpu")
    root = parsed(text)
    assert root.find(f".//{SVG}svg") is None and "too many for a graph" in text
    assert "a<b for cpu" in "".join(root.itertext())
    assert "<a & b>.mlir" in "".join(root.itertext())


def test_measured_times_are_beside_predicted_ones() -> None:
    exe = compiled("cuda:sm_90a")
    explanation = exe.explain(json=True)
    name, first = (
        explanation["kernels"][0]["name"],
        explanation["kernels"][0]["predicted"]["total_us"],
    )
    root = parsed(page(explanation, "main", "cuda:sm_90a", {name: 10 * first}))
    texts = "".join(root.itertext())
    assert (
        "Predicted and measured times" in texts
        and f"{first:.1f} us, {10 * first:.1f} measured" in texts
    )
    marks = [r for r in root.iter(f"{SVG}rect") if r.get("class") == "measured"]
    assert len(marks) == 1 and "Predicted times" not in texts


def test_candidates_are_on_the_page() -> None:
    parts = dict.fromkeys(("launch", "memory", "matrix", "vector"), 1.0)
    own = Candidate("as planned", {}, 1, 4.0, parts).as_dict()
    text = page({"kernels": [], "refused": [], "candidates": [own]}, "main", "cuda:sm_90a")
    assert "Other plans" in text and "1 kernel  4.0 us" in text


def test_a_program_without_kernels() -> None:
    root = parsed(page({"kernels": [], "refused": []}, "main", "cpu"))
    assert "0 kernels" in "".join(root.itertext())


def test_a_browser_shows_it(tmp_path: Path) -> None:
    """Where there is one (chromium): it draws what was written, and reports no error."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        return
    file = tmp_path / "page.html"
    file.write_text(compiled("cuda:sm_90a").explain(html=True))
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.count("<svg") == 2 and "results</text>" in done.stdout
