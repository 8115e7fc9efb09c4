"""`eval` with numpy, pandas and matplotlib, as a project with a .venv has them: tables for the
model, pictures as files."""

import json
import pathlib
import struct
import subprocess

import pytest

from harness.program import TOOLS

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def science(tmp_path_factory):
    """A project whose .venv sees the set of tools/setup."""
    root = tmp_path_factory.mktemp("science")
    command = ["/usr/bin/python3", "-m", "venv", "--without-pip", root / ".venv"]
    subprocess.run(command, check=True)
    (packages,) = (TOOLS / "pip" / "science").glob("lib/python3*/site-packages")
    (folder,) = (root / ".venv").glob("lib/python3*/site-packages")
    (folder / "science.pth").write_text(f"{packages}\n")
    return root


@pytest.fixture
def cell(werkbank, science):
    session = werkbank.session(science, "--allow", "exec")

    def run(code, ok=True):
        result = session.call("eval", code=code, description="a test")
        assert result.is_error != ok, result
        return result

    return run


def pictures(result):
    """(width, height) of each attachment, which must be PNGs that are whole."""
    sizes = []
    for attachment in result.attachments:
        assert attachment["mime"] == "image/png"
        data = pathlib.Path(attachment["path"]).read_bytes()
        assert data.startswith(PNG) and data.endswith(b"IEND\xaeB`\x82")
        sizes.append(struct.unpack(">II", data[16:24]))
    return sizes


# --- pandas ---


def test_a_frame_is_a_table(cell, werkbank):
    result = cell("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x|y', 'two\\nlines']})")
    table = result.text[result.text.index("|") :].splitlines()
    assert table[:4] == [
        "|  | a | b |",
        "| --- | --- | --- |",
        "| 0 | 1 | x\\|y |",
        "| 1 | 2 | two lines |",
    ]
    assert "2 rows x 2 columns" in result.text
    (event,) = [event for event in werkbank.transcripts() if event["kind"] == "display"]
    assert "<table" in event["forms"]["text/html"]
    assert "<table" not in result.text


def test_a_large_frame_is_bounded(cell):
    code = """\
        import numpy as np, pandas as pd
        pd.DataFrame(np.zeros((1_000_000, 50)), columns=[f"c{i}" for i in range(50)])
        """
    result = cell(code)
    assert (
        "1000000 rows x 50 columns; the first and last 15 rows shown; the first 20" in result.text
    )
    assert len(result.text) < 10_000 and "| 999999 |" in result.text and "| 14 |" in result.text
    assert "c19" in result.text and "c20" not in result.text.partition("\n\n")[0]


def test_series_indexes_and_odd_frames(cell):
    cell("import pandas as pd, numpy as np")
    assert "| x | 1.5 |" in cell("pd.Series([1.5, None], index=['x', 'y'], name='s')").text
    multi = "pd.DataFrame({('a', 'b'): [1]}, index=pd.MultiIndex.from_tuples([(1, 2)], names=['p', 'q']))"
    assert "| p / q | a / b |" in cell(multi).text
    for odd in (
        "pd.DataFrame()",
        "pd.DataFrame({'a': []})",
        "pd.DataFrame([[1, 2]], columns=['same', 'same'])",
        "pd.DataFrame({'d': pd.to_datetime(['2020-01-01']), 'c': pd.Categorical(['k'])})",
        "pd.DataFrame({'o': [[1, 2], {'k': object()}]})",
        "pd.DataFrame({'a': [1, 1], 'b': [2, 3]}).groupby('a')",
        "pd.DataFrame({'a': [1, 1], 'b': [2, 3]}).groupby('a').sum()",
        "pd.Index([1, 2])",
        "pd.Timestamp('2020-01-01')",
        "np.arange(5)",
        "np.zeros((1000, 1000))",
        "np.float64(1.5)",
    ):
        assert cell(odd).data["value"], odd
    assert "rows x" not in cell("df = pd.DataFrame({'a': [1]});\ndf;").text
    assert cell("display(df)\ndisplay(df)").text.count("1 rows x 1 columns") == 2


# --- matplotlib ---


def test_a_figure_is_a_picture(cell):
    result = cell("import matplotlib.pyplot as plt\nplt.figure(figsize=(4, 3))\nplt.plot([1, 2]);")
    ((width, height),) = pictures(result)
    assert 250 < width < 450 and 200 < height < 350
    assert "[picture 1, image/png" in result.text
    assert "Line2D" in cell("plt.plot([1, 2])").data["value"]
    assert pictures(cell("1")) == []


def test_several_figures_in_their_order(cell):
    code = """\
        import matplotlib.pyplot as plt
        for width in (2, 4, 6):
            plt.figure(figsize=(width, 2))
            plt.plot([1, 2])
        """
    widths = [width for width, _ in pictures(cell(code))]
    assert len(widths) == 3 and widths == sorted(widths)


def test_show_in_the_middle(cell):
    code = """\
        import matplotlib.pyplot as plt
        print("one")
        plt.plot([1, 2])
        plt.show()
        print("two")
        plt.plot([2, 1])
        plt.show()
        print("three")
        """
    result = cell(code)
    assert len(pictures(result)) == 2
    places = [result.text.index(it) for it in ("one", "picture 1", "two", "picture 2", "three")]
    assert places == sorted(places)


def test_the_figures_of_a_cell_that_fails(cell):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n1 / 0"
    result = cell(code, ok=False)
    assert len(pictures(result)) == 1 and "ZeroDivisionError" in result.text


@pytest.mark.parametrize(
    "last", ["display(fig)", "fig", "display(fig)\nfig", "fig\nplt.show()", "fig;"]
)
def test_a_figure_is_shown_once(cell, last):
    code = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\n"
    shown = pictures(cell(code + last))
    assert len(shown) == (2 if last == "display(fig)\nfig" else 1)


def test_a_kept_figure_can_be_changed_and_shown_again(cell):
    cell("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2]);")
    assert len(pictures(cell("ax.set_title('later')\nfig"))) == 1


def test_a_figure_that_cannot_be_drawn(cell):
    code = "import matplotlib.pyplot as plt\nplt.title('$\\\\frac{$')\nprint('said');"
    result = cell(code, ok=False)
    assert "said" in result.text and "ParseException" in result.text or "ValueError" in result.text
    assert len(pictures(cell("plt.plot([1]);"))) == 1


def test_a_backend_with_windows(cell):
    cell("import matplotlib\nmatplotlib.use('Agg')")
    result = cell(
        "matplotlib.use('TkAgg', force=True)\nimport matplotlib.pyplot as plt\nplt.plot([1]);",
        ok=False,
    )
    assert "Error" in result.text and result.data["state"] == "kept"
    assert cell("40 + 2").data["value"] == "42"


def test_pandas_plots(cell):
    result = cell("import pandas as pd\npd.Series([1, 3, 2]).plot(title='s');")
    assert len(pictures(result)) == 1


def test_drawn_in_a_function_saved_and_closed(cell, science):
    code = """\
        import matplotlib.pyplot as plt
        def draw():
            fig = plt.figure()
            plt.plot([1, 2])
            plt.savefig("out.png")
            plt.close(fig)
        draw()
        """
    assert pictures(cell(code)) == []
    assert (science / "out.png").read_bytes().startswith(PNG)


def test_the_attachments_of_a_single_call(werkbank, science):
    arguments = {"code": "import matplotlib.pyplot as plt\nplt.plot([1, 2]);", "description": "x"}
    done = werkbank.run(
        "call", "--workspace", science, "--allow", "exec", "--json", "eval", json.dumps(arguments)
    )
    (attachment,) = done.json()["attachments"]
    assert attachment["mime"] == "image/png"
    assert pathlib.Path(attachment["path"]).read_bytes().startswith(PNG)
