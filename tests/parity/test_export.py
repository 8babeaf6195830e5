"""Exported models: ONNX's own checker takes them, and ONNX Runtime acts as the agent does."""

import json
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime

CONFIGS = pathlib.Path(__file__).parents[2] / "configs"
EPISODES = 20
# of every algorithm: what makes a short run learn
SHORT = {
    "sac": [],
    "oracle": ["sac.layer_norm=all"],
    "stack": [],
    "rsac": ["rsac.units=16", "rsac.window=9", "rsac.windows=4", "rsac.burn_in=2"],
    "lilac": ["lilac.latents=3", "lilac.episodes=8", "lilac.initial=500", "lilac.updates=50", "lilac.refresh=200"],
    "zeus": ["zeus.steps=5", "zeus.coder=16", "zeus.latents=3"],
    "varibad": ["varibad.lstm=16", "varibad.latents=3", "varibad.initial=500", "varibad.updates=50"],
    "fans": ["fans.initial=900", "fnvae.updates=50"],
}


def trained(build, algo, folder):
    """A short run."""
    settings = ["sac.width=32", "sac.random_steps=200", *SHORT[algo]]
    subprocess.run([build / "fans", "train", CONFIGS / "pendulum_flip.ini", "--algo", algo, "--steps", "1200",
                    "--threads", "1", "--out", folder, "--quiet", *(x for s in settings for x in ("--set", s))],
                   check=True, capture_output=True)
    return folder / "seed-0"


def exported(build, run, weights="f32"):
    """The model, checked in full, as a session."""
    subprocess.run([build / "fans", "export", run, "--to", "onnx", "--out", run, "--weights", weights],
                   check=True, capture_output=True)
    model = onnx.load(run / "policy.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == 8 and model.opset_import[0].version == 17
    return onnxruntime.InferenceSession(run / "policy.onnx")


def lived(build, run):
    """Ticks of the agent: inputs by name, actions, beliefs, and where an episode had ended."""
    text = subprocess.run([build / "parity_export", run, str(EPISODES)], check=True, capture_output=True).stdout
    ticks = json.loads(text)
    inputs = {name: np.array(rows, np.float32) for name, rows in ticks["inputs"].items()}
    return inputs, np.array(ticks["actions"]), np.array(ticks["belief"]), np.array(ticks["last"], bool)


def answers(session, inputs):
    """Two lives at a time, the second always new; the state is never corrected."""
    names = [o.name for o in session.get_outputs()]
    carries = "state_in" in [i.name for i in session.get_inputs()]
    state = np.zeros((2, session.get_inputs()[-1].shape[1]), np.float32)
    found = {name: [] for name in names}
    for rows in zip(*inputs.values()):
        tick = {name: np.stack([row, row]) for name, row in zip(inputs, rows)}
        if carries:
            tick["state_in"] = state
        out = dict(zip(names, session.run(None, tick)))
        for name in names:
            found[name].append(out[name][0])
        if carries:
            state[0], state[1] = out["state_out"][0], 0
    return {name: np.array(rows) for name, rows in found.items()}


def test_onnx_runtime_acts_as_the_agent(build):
    with tempfile.TemporaryDirectory() as above:
        for algo in SHORT:
            run = trained(build, algo, pathlib.Path(above) / algo)
            session = exported(build, run)
            inputs, actions, beliefs, last = lived(build, run)
            assert {i.name for i in session.get_inputs()} - {"state_in"} == set(inputs), algo
            found = answers(session, inputs)
            apart = np.abs(found["actions"] - actions)[~last].max()
            assert apart <= 1e-5, (algo, apart)
            assert np.ptp(actions) > 1e-3, algo
            if beliefs.size:
                theta = beliefs.shape[1]
                apart = np.abs(found["belief"][:, :theta] - beliefs)[~last].max()
                assert apart <= 1e-4, (algo, apart)


def test_half_precision_halves_the_file(build):
    with tempfile.TemporaryDirectory() as above:
        run = trained(build, "fans", pathlib.Path(above) / "fans")
        full, half = exported(build, run), None
        size = (run / "policy.onnx").stat().st_size
        half = exported(build, run, "f16")
        assert (run / "policy.onnx").stat().st_size < 0.7 * size
        inputs = lived(build, run)[0]
        apart = np.abs(answers(full, inputs)["actions"] - answers(half, inputs)["actions"]).max()
        assert 0 < apart < 0.1, apart


def test_sac_has_the_names_others_expect(build):
    with tempfile.TemporaryDirectory() as above:
        session = exported(build, trained(build, "sac", pathlib.Path(above) / "sac"))
        assert [i.name for i in session.get_inputs()] == ["obs"]
        assert [o.name for o in session.get_outputs()] == ["actions"]
        assert session.get_inputs()[0].shape == ["N", 3]
