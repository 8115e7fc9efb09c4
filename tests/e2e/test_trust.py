"""A project's own configuration is not believed before the operator trusts it."""

import json

import pytest

from harness.scripted import SERVER, server_row


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "scripted.json").write_text("{}")
    (folder / "main.scr").write_text("def hello\nuse hello\n")
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"journal": str(tmp_path / "journal")}))
    write_config(folder, scenario)
    return folder


def write_config(folder, scenario, **more):
    config = {
        "servers": [server_row(scenario)],
        "languages": [{"id": "scripted", "extensions": [".scr"], "identifier": "c"}],
        **more,
    }
    (folder / ".werkbank.json").write_text(json.dumps(config))


AT = {"action": "definition", "file": "main.scr", "line": 2, "symbol": "hello"}


def started(project):
    return (project.parent / "journal").exists()


def test_an_untrusted_command_is_not_run(werkbank, project):
    result = werkbank.call(project, "lsp", AT)
    assert result.is_error and not started(project)
    status = werkbank.call(project, "lsp", {"action": "status"})
    assert "werkbank trust" in result.text + status.text
    assert str(SERVER) not in result.text


def test_trust_for_one_process(werkbank, project):
    assert not werkbank.call(project, "lsp", AT, "--trust").is_error
    assert started(project)
    assert werkbank.call(project, "lsp", AT).is_error


def test_trust_is_kept_and_a_change_asks_again(werkbank, project, tmp_path):
    before = sorted(project.iterdir())
    assert werkbank.run("trust", "--workspace", project).status == 0
    # Trust is kept outside the project.
    assert sorted(project.iterdir()) == before
    assert not werkbank.call(project, "lsp", AT).is_error
    write_config(project, tmp_path / "scenario.json", lsp={"idle_stop_s": 60})
    assert werkbank.call(project, "lsp", AT).is_error
    assert werkbank.run("trust", "--workspace", project).status == 0
    assert not werkbank.call(project, "lsp", AT).is_error


def test_trust_is_taken_back(werkbank, project):
    werkbank.run("trust", "--workspace", project)
    assert werkbank.run("trust", "--workspace", project, "--remove").status == 0
    assert werkbank.call(project, "lsp", AT).is_error


def test_trust_is_of_one_workspace(werkbank, project, tmp_path):
    werkbank.run("trust", "--workspace", project)
    other = tmp_path / "other"
    other.mkdir()
    for path in project.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    assert werkbank.call(other, "lsp", AT).is_error


@pytest.mark.parametrize(
    "text", ["{", "[]", "7", '{"servers": 7}', '{"servers": [7]}', '{"servers": [{"id": 7}]}', ""]
)
def test_bad_configuration_gets_a_sentence(werkbank, project, tmp_path, text):
    (project / ".werkbank.json").write_text(text)
    finished = werkbank.run(
        "call", "--workspace", project, "--trust", "read", '{"path": "main.scr"}'
    )
    assert finished.status in (0, 1, 2) and finished.stdout + finished.stderr
    config = tmp_path / "config.json"
    config.write_text(text)
    (project / ".werkbank.json").unlink()
    finished = werkbank.run(
        "call", "--workspace", project, "--config", config, "read", '{"path": "main.scr"}'
    )
    assert finished.status == 2 and "config.json" in finished.stderr, finished


def test_mistakes_in_rows_are_told(werkbank, project, tmp_path):
    rows = [{"id": "clangd", "comands": [["x"]], "markers": "M", "group": None, "disabled": False}]
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"servers": rows, "checks": [{"id": "own", "priorty": 1}]}))
    args = ["call", "--workspace", project, "--config", config, "lsp", '{"action": "status"}']
    told = werkbank.run(*args).stderr
    assert "the row `clangd` of `servers` has the unknown member `comands`" in told
    assert "`markers` in the row `clangd` of `servers` must be of type array, not string" in told
    assert "group" not in told and "disabled" not in told


def test_rows_without_mistakes_are_told_nothing(werkbank, project):
    args = ["call", "--workspace", project, "--trust", "lsp", json.dumps(AT)]
    assert werkbank.run(*args).stderr == ""


def test_the_users_file_is_believed(werkbank, project):
    folder = werkbank.home / "config" / "werkbank"
    folder.mkdir(parents=True)
    (project / ".werkbank.json").rename(folder / "config.json")
    assert not werkbank.call(project, "lsp", AT).is_error


def test_a_project_cannot_widen_what_is_allowed(werkbank, project):
    (project / ".werkbank.json").write_text(json.dumps({"allow": "exec"}))
    result = werkbank.call(project, "shell", {"command": "touch ran"})
    assert result.is_error and not (project / "ran").exists()
