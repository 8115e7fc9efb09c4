"""Fixtures: the program in an environment of its own, with a leak check at the end of each."""

import json
import pathlib
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness.cells import Cells  # noqa: E402
from harness.program import Werkbank  # noqa: E402
from harness.scripted import Scripted  # noqa: E402
from harness.scripted_debug import ScriptedDebug  # noqa: E402
from harness.serve import ModernServe, Serve  # noqa: E402
from harness.suite import Desk  # noqa: E402


def new_werkbank(folder):
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return Werkbank(home, f"test-{uuid.uuid4()}")


@pytest.fixture
def werkbank(tmp_path):
    """The program, for one test."""
    made = new_werkbank(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="class")
def shared_werkbank(tmp_path_factory):
    """The program, for all tests of a class: what is warm stays warm."""
    made = new_werkbank(tmp_path_factory.mktemp("shared"))
    yield made
    made.close()


@pytest.fixture(scope="class")
def desk(request, shared_werkbank, tmp_path_factory):
    """A warm session in the project of an LspSuite."""
    return Desk.of_suite(request.cls, shared_werkbank, tmp_path_factory.mktemp("desk"))


@pytest.fixture
def serve(werkbank):
    """Starts `werkbank serve` and does the legacy handshake; modern=True needs none."""

    def start(workspace, *options, modern=False, capabilities=None, env=None):
        kind = ModernServe if modern else Serve
        client = werkbank.start(kind, "serve", "--workspace", workspace, *options, env=env)
        if modern:
            client.capabilities = capabilities or {}
        else:
            client.initialize(capabilities=capabilities)
        return client

    return start


@pytest.fixture
def cells(werkbank, project, tmp_path):
    """Opens sessions; keyword arguments are the configuration."""

    def start(root=project, env=None, **config):
        file = tmp_path / f"config-{uuid.uuid4()}.json"
        file.write_text(json.dumps(config))
        options = ("--allow", "exec", "--config", file)
        return Cells(werkbank.session(root, *options, env=env))

    return start


@pytest.fixture
def scripted(tmp_path):
    """Makes a workspace with the scripted server; its client must break no rule of the protocol."""
    made = []

    def make(scenario=None, **more):
        made.append(Scripted(tmp_path, scenario, **more))
        return made[-1]

    yield make
    for one in made:
        assert one.violations() == []


@pytest.fixture
def scripted_session(werkbank, scripted):
    """A scripted workspace and a session in it: (scripted, session)."""

    def make(scenario=None, options=("--allow", "write"), **more):
        one = scripted(scenario, **more)
        return one, werkbank.session(one.root, *one.options(), *options)

    return make


@pytest.fixture
def debug_session(werkbank, tmp_path):
    """A workspace with the scripted debug adapter and a session in it: (scripted, session)."""
    made = []

    def make(scenario=None, **more):
        made.append(ScriptedDebug(tmp_path, scenario, **more))
        return made[-1], werkbank.session(made[-1].root, *made[-1].options())

    yield make
    for one in made:
        assert one.violations() == []
