"""A session of which only `eval` is of interest."""

import textwrap

import pytest

BOTH = pytest.mark.parametrize("language", ["python", "javascript"])


class Cells:
    def __init__(self, session):
        self.session = session

    def call(self, code, language="python", **more):
        code = textwrap.dedent(code)
        return self.session.call("eval", code=code, description="a test", language=language, **more)

    def ok(self, code, language="python", **more):
        result = self.call(code, language, **more)
        assert not result.is_error, result
        return result

    def value(self, code, language="python", **more):
        return self.ok(code, language, **more).data["value"]

    def error(self, code, language="python", **more):
        result = self.call(code, language, **more)
        assert result.is_error, result
        return result


def write_script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    path.chmod(0o755)
    return path
