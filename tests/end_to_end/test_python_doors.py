"""What users hand to Python: taken where its meaning is plain, else refused at once, in words.

The calls are made in a process without the checks of annotations that tests have.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import json, sys
import networkx as nx
import numpy as np
import pandas as pd
import tacit
from tacit import data, method, network, privacy, problem, report, study, sweep
from tacit.errors import TacitError
from tacit.study import demo
from tacit.privacy import Privacy
rng = np.random.default_rng(0)
X = [rng.normal(size=(20, 2)) for _ in range(4)]
Y = [x @ [1.0, -1.0] > 0 for x in X]
task = problem.empirical_risk(X, Y, problem.Logistic(), problem.L2(0.1))
ring, dgd, private = network.ring(4), tacit.DGD(step=0.1), Privacy(clip=1.0, epsilon=1.0)
dpsg = tacit.DPSG(step=0.1, privacy=private)
frame = pd.DataFrame({"site": list("abcd"), "age": [30, 40, 50, 60], "ill": [0, 1, 0, 1]})
pure = Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise="laplace")
schema = data.Schema({"age": data.Numeric(0, 120)}, None)
grid = sweep.Grid(seeds=1)
source = demo.study()
pdop = method.PDOP(step=0.1, privacy=pure)

def run(p=task, n=ring, m=dgd, **more):
    return tacit.run(p, n, m, **{"rounds": 2, "seed": 0, **more})

def glm(table=frame, **more):
    return tacit.glm("ill ~ age", table, family="binomial", **more)

def risk(*more, **others):
    return problem.empirical_risk(X, Y, *more, **others)

def box(x, agent):
    return float(x @ x)

answers = []
for call in json.loads(sys.stdin.read()):
    try:
        eval(call)
        answers.append(["taken", ""])
    except TacitError as error:
        answers.append([type(error).__name__, str(error)])
    except BaseException as error:
        answers.append(["RAW " + type(error).__name__, str(error)])
print("ANSWERS", json.dumps(answers))
"""

TAKEN = [
    "run(rounds=5.0)",
    "run(rounds=np.int64(3))",
    "run(seed=np.int64(7))",
    "run(seed=1.0)",
    "run(n=nx.cycle_graph(4))",
    "tacit.account(task, nx.cycle_graph(4), dpsg, rounds=3.0)",
    "run(progress=True)",
    "run(progress=False)",
    "run(record=2.0)",
    "run(record=np.array([1, 2]))",
    "tacit.account(task, ring, dpsg, rounds=2**31 - 1)",
    "run(runtime=tacit.Simulation(trials=2.0))",
    "run(n=network.ring(4.0))",
    "run(n=network.grid(2, 2.0))",
    "run(n=network.Coordinator(4.0), m=tacit.GradientDescent(step=0.1))",
    "run(reference=[0.0, 0.0])",
    "problem.black_box_problem(box, 3.0, x0=[0.0])",
    "run(p=risk(problem.Logistic(), names=('a', 'b', 'c', 'd')))",
    "tacit.DGD(step=np.array(0.1))",
    "Privacy(clip=1, epsilon=[1, 2], delta=(1e-6, 1e-6))",
]

REFUSED = {
    # tacit.run
    "run(p=None)": "problem is None; make one with problem.empirical_risk",
    "run(p=X)": "problem is a list; make one",
    "run(p=box)": "problem is a function; make one",
    "run(p=problem.Problem)": "is the class Problem and not one of its objects",
    "run(p=ring, n=task)": "which is a network: the order is problem, network, method",
    "run(n=dgd, m=ring)": "network is a DGD, which is a method: the order is",
    "run(p=ring, n=dgd, m=task)": "the order is problem, network, method",
    "run(n='ring')": r"network is 'ring'; write network\.ring\(4\)",
    "run(n='circle')": r"write network\.ring\(4\), another graph, or network.Coordinator",
    "run(n=4)": r"network is 4; write network\.ring\(4\)",
    "run(n=None)": "network is None; write network",
    "run(n=np.ones((4, 4)))": r"an array of shape \(4, 4\); write .*from_numpy_array",
    "run(n=[(0, 1), (1, 2)])": r"a list; write network\.Graph\.from_edges\(4, edges\)",
    "run(n=network.Coordinator)": "the class Coordinator and not one of its objects",
    "run(n=nx.Graph([(0, 1), (2, 3)]))": "components|connected",
    "run(n=nx.cycle_graph(5))": "the network has 5 agents and the problem 4",
    "run(m='dpsg')": r"method is 'dpsg'; write method\.DPSG\(",
    "run(m='adam')": "method is 'adam'; give an object such as",
    "run(m=tacit.DPSG)": r"the class DPSG and not one of its objects; write DPSG\(",
    "run(m=None)": "method is None; give",
    "run(m=lambda x: x)": "method is a function; give",
    "run(rounds=5.5)": "rounds=5.5 must be a whole number",
    "run(rounds='5')": "rounds='5' must be a whole number",
    "run(rounds=True)": "rounds=True must be a whole number",
    "run(rounds=None)": "rounds=None must be a whole number",
    "run(rounds=0)": "rounds=0 must be at least 1",
    "run(rounds=float('nan'))": "rounds=nan must be a whole number",
    "run(rounds=[5])": "rounds=a list must be a whole number",
    "run(seed='a')": "seed='a' must be a whole number",
    "run(seed=-1)": "seed=-1 must be at least 0",
    "run(seed=0.5)": "seed=0.5 must be a whole number",
    "run(seed=2**70)": "below 2",
    "run(runtime='exact')": r"runtime is 'exact'; give tacit\.Simulation",
    "run(runtime=tacit.Simulation)": "the class Simulation and not one of its objects",
    "run(runtime={'trials': 2})": "runtime is a dict",
    "run(record='all')": "record='all' must be a whole number",
    "run(record=[1, 'x'])": "record='x' must be a whole number",
    "run(record=0)": "record=0 must be at least 1",
    "run(record=[7])": "must lie between 1 and rounds=2",
    "run(reference='best')": "reference='best' must be 'solve'",
    "run(reference=[1.0])": r"reference has shape \(1,\)",
    "run(reference=True)": "reference is True; give a point of",
    "run(reference=['a', 'b'])": "reference is a list; give a point of",
    "run(require=True)": "require=True must be None or 'proved'",
    "run(require='Proved')": "require='Proved' must be",
    "run(checkpoint=True)": "checkpoint is True; give a file name",
    "run(ledger='my.ledger')": "ledger is 'my.ledger'; open it",
    "run(progress='yes')": "progress is 'yes'; give True, or a function",
    "tacit.Simulation(trials=0)": "trials=0 must be at least 1",
    "tacit.Simulation(trials='2')": "trials='2' must be a whole number",
    "tacit.Simulation(precision='float16')": "precision='float16' must be 'float64' or 'float32'",
    "tacit.Simulation(precision=32)": "precision=32 must be",
    "tacit.Simulation(exact='yes')": "exact='yes' must be True or False",
    # tacit.account and tacit.audit_method
    "tacit.account(ring, task, dpsg, rounds=3)": "the order is problem, network, method",
    "tacit.account(task, ring, dpsg, rounds=10**13)": "rounds=10000000000000 must be .* at most 2,",
    "tacit.account(task, ring, dpsg, rounds=10**9, record=1)": "record=1 measures 1,000,000,000 ti",
    "tacit.account(task, ring, pdop, rounds=10**7)": "changes from round to round .* 1,000,000",
    "run(rounds=10**13)": "rounds=10000000000000 must be at least 1 and at most 2,147,483,647",
    "tacit.account(task, ring, dpsg, rounds='3')": "rounds='3' must be a whole number",
    "tacit.audit_method(task, ring, 'dpsg', rounds=3)": r"write method\.DPSG",
    "tacit.audit_method(task, ring, dpsg, rounds=3, trials='many')": "trials='many' must be",
    "tacit.audit_method(task, ring, dpsg, rounds=3, owner='a')": "owner='a'",
    # problems
    "risk('logistic')": r"loss is 'logistic'; write problem\.Logistic\(",
    "risk(problem.Logistic)": "loss is the class Logistic and not one of its objects",
    "risk(problem.Logistic(), 0.1)": r"regulariser is 0.1; say which: problem\.L2\(0.1\)",
    "risk(problem.Logistic(), 'l2')": "regulariser is 'l2'; say which",
    "risk(problem.Logistic(), problem.L2)": "the class L2 and not one of its objects",
    "risk(problem.Logistic(), None)": "regulariser is None; say which",
    "risk(problem.Logistic(), constraint=(-1, 1))": "constraint is a tuple; give one of",
    "risk(problem.Logistic(), constraint=problem.Box)": "the class Box and not one",
    "risk(problem.Logistic(), weighting='records')": "weighting='records' is unknown",
    "risk(problem.Logistic(), normaliser='a')": "normaliser='a' must be",
    "risk(problem.Logistic(), x0='zero')": "x0",
    "risk(problem.Logistic(), x0=['a', 'b'])": "x0='a' must be a number",
    "risk(problem.Logistic(), names='abcd')": "names is 'abcd'; give a list",
    "problem.empirical_risk(X[0], Y, problem.Logistic())": "features",
    "problem.empirical_risk(5, Y, problem.Logistic())": "features is 5; give a list",
    "problem.empirical_risk(X, None, problem.Logistic())": "targets is None; give a list",
    "problem.empirical_risk(X[:1], Y[:1], problem.Logistic())": "at least two",
    "problem.L2('a')": "strength='a' must be a number",
    "problem.L2(-1.0)": "strength=-1.0 must be",
    "problem.L1(None)": "strength=None must be a number",
    "problem.costs('f', np.ones((2, 1)), np.zeros(1))": "function is 'f'; give a function",
    "problem.costs(lambda x, p: x @ p, np.ones((2, 1)), 'zero')": "x0",
    "problem.black_box_problem('f', 3, [0.0])": "needs a function",
    "problem.black_box_problem(box, 1, [0.0])": "agents=1: agreement needs at least two",
    "problem.black_box_problem(box, 2.5, [0.0])": "agents=2.5 must be a whole number",
    "problem.black_box_problem(box, True, [0.0])": "agents=True must be a whole number",
    "problem.black_box_problem(box, '3', [0.0])": "agents",
    "problem.black_box_problem(box, 3, None)": "x0",
    "risk(problem.Squared(), x0=[[0.0, 1.0]])": r"x0 has shape \(1, 2\); it must be a list",
    "risk(problem.Squared(), x0='00')": "x0='00' must be a list of numbers",
    "problem.empirical_risk([X[0][:, 0]], Y[:1], problem.Logistic())": "one column per feature",
    "problem.empirical_risk([[[1, 2], [3]]], [[1, 2]], problem.Squared())": "agent 0: .* lengths",
    "problem.record_tables([1, 2], schema)": "the table of agent 0 is 1; give one table",
    "task.value([1.0])": r"x has shape \(1,\); give one number for each of the 2",
    "task.value('abc')": "x is 'abc'; give one number",
    "task.value(None)": "x is None; give one number",
    # functions in JAX
    "risk(problem.JaxLoss(lambda a: a))": r"raised TypeError .* takes \(x, row, target\)",
    "risk(problem.JaxLoss(lambda x, a, b: a * b))": r"returned an array of shape \(2,\)",
    "risk(problem.JaxLoss(lambda x, a, b: 1.0 if x[0] > 0 else 0.0))": "jnp.where",
    "risk(problem.JaxLoss(lambda x, a, b: np.log(x @ a)))": "use jax.numpy instead of numpy",
    "risk(problem.JaxLoss(lambda x, a, b: [x[0]]))": "returned a list; it takes",
    "risk(problem.JaxLoss(lambda x, a, b: 1))": "type int64, which has no slope",
    "problem.costs(lambda x, p: x - p, np.ones((2, 3)), [0.0, 0.0])": "costs raised TypeError",
    "problem.costs(lambda x, p: 1 / 0, np.ones((2, 3)), [0.0, 0.0])": "raised ZeroDivisionError",
    # networks
    "network.Graph(None)": r"links is None; give edges to Graph\.from_edges\(agents, edges\)",
    "network.ring('4')": "agents='4' must be a whole number",
    "network.ring(None)": "agents=None must be a whole number",
    "network.ring(4.5)": "agents=4.5 must be a whole number",
    "network.ring(2)": r"agents=2: a ring needs at least 3. .* take path\(2\)",
    "network.erdos_renyi(4, 'half', 0)": "probability='half' must be a number",
    "network.geometric(4, None, 0)": "radius=None must be a number",
    "network.Coordinator(None)": "agents=None must be a whole number",
    "network.Coordinator(0)": "agents=0 must be at least 1",
    "network.Coordinator(4, probability='half')": "probability='half'",
    "network.Graph.from_networkx([(0, 1)])": "NetworkX",
    "network.Graph.from_networkx(np.ones((3, 3)))": "NetworkX",
    # methods and budgets
    "tacit.DGD(step='fast')": "step='fast' must be a number",
    "tacit.DGD(step=None)": "step=None must be a number",
    "tacit.DGD(step=-1.0)": "step=-1.0 must be a positive",
    "tacit.DGD(step=True)": "step=True must be a number",
    "tacit.DGD(step=np.array([0.1, 0.2]))": r"step=an array of shape \(2,\) must be one number",
    "tacit.DGD(step=[0.1] * 4)": "step=a list must be one number",
    "tacit.DPSG(step=np.ones((4, 1)), privacy=private)": "step=an array of .* must be one number",
    "tacit.DPSG(step=1.0, privacy={})": r"privacy is a dict; write privacy=Privacy\(",
    "tacit.DPSG(step=1.0, privacy=1.0)": "privacy is 1.0; write",
    "tacit.DPSG(step=1.0, privacy=Privacy)": "privacy is the class Privacy",
    "tacit.GradientDescent(step=1.0, privacy='epsilon')": "privacy is 'epsilon'; write",
    "method.PDOP(step=1.0, privacy={'epsilon': 1})": "privacy is a dict; write",
    "method.PVP(penalty=1.0, privacy={'epsilon': 1})": "privacy is a dict; write",
    "method.FedAvg(step=1.0, local_steps='2')": "local_steps='2' must be",
    "Privacy(clip='1', epsilon=1.0)": "clip='1' must be a number",
    "Privacy(clip=True, epsilon=1.0)": "clip=True must be a number",
    "Privacy(clip=1.0, epsilon='1')": "epsilon='1' must be a number",
    "Privacy(clip=1.0, epsilon=[1, 'x', 2, 3])": r"epsilon\[1\]='x' must be a number",
    "Privacy(clip=1.0)": "privacy needs epsilon",
    "Privacy(clip=1.0, epsilon=1.0, delta=None)": "delta=None must be a number",
    "Privacy(clip=1.0, epsilon=1.0, relation='record')": "relation='record' must be one of",
    "Privacy(clip=1.0, epsilon=1.0, noise='normal')": "noise='normal' must be one of 'gaussian'",
    "Privacy(clip=1.0, epsilon=1.0, sampling='half')": "sampling='half' must be a number",
    "Privacy(clip=1.0, epsilon=1.0, sites_per_person='2')": "sites_per_person='2' must be",
    "Privacy(clip=1.0, epsilon=1.0, records_per_person=1.5)": "records_per_person=1.5 must be",
    "Privacy(clip=1.0, epsilon=1.0, masks=2)": r"masks=2 must be Masks\(\.\.\.\) or True or False",
    "Privacy(clip=1.0, epsilon=1.0, clip_norm='l2')": "clip_norm='l2' must be",
    "privacy.plan_gossip(np.ones((2, 3)), steps=2, noise_multiplier=1.0)": "it must be square",
    # columns and regressions
    "data.Numeric('20', '80')": "lower='20' must be a number$",
    "data.Numeric(mean=1, deviation=0)": "deviation=0 must be positive",
    "data.columns_of(schema)['age'].cut('18')": r"edges=\['18'\] of column 'age' must be numbers",
    "glm(missing='ignore')": "missing='ignore' must be 'error' or .* or a number$",
    "glm(columns={'age': (20, 80)})": r"columns\['age'\] is a tuple; declare each column",
    "glm({})": "data={} is empty",
    "glm(pd.DataFrame)": "data is the class DataFrame; give a table",
    "glm({'a': frame, 'b': None})": r"data\['b'\] is None; give a table",
    # studies and sweeps
    "study.parse_study(None)": "text=None must be text",
    "study.parse_study(b'title = 1')": "text=a bytes must be text",
    "study.read_study(None)": "path=None must be text or a pathlib.Path",
    "study.assemble('study.toml')": r"source is 'study.toml'; give the result of .*read_study\(",
    "study.assemble(source, like=3)": r"like is 3; give the result of tacit.study.assemble\(",
    "study.account('study.toml')": r"assembled is 'study.toml'; give the result of",
    "study.execute(source)": r"assembled is a Source; give the result of tacit.study.assemble\(",
    "study.setting(None)": "source is None; give the result of",
    "problem.black_box_problem(abs, 2, x0=[])": r"x0=\[\]: give a public starting point",
    "study.draft('visits.csv', target=5)": "target=5 must be text",
    "study.audit(source, owner=7)": "assembled is a Source",
    "sweep.Grid(seeds='5')": "seeds='5' must be a whole number",
    "sweep.Grid(methods='dpsg')": "methods='dpsg' must be a list",
    "sweep.Grid(settings=None)": "settings=None must be a dict",
    "sweep.Grid(settings={'privacy.epsilon': 1.0})": r"settings\['privacy.epsilon'\]=1.0 must be a",
    "sweep.Grid(settings={'network': 'ring'})": r"settings\['network'\]='ring' must be a list",
    "sweep.Grid(settings={3: [1]})": "a key must be text",
    "sweep.read_grid(None)": "path=None must be",
    "sweep.sweep('study.toml', grid, 'out')": "source is 'study.toml'; give the result of",
    "sweep.sweep(source, {'seeds': 1}, 'out')": r"grid is a dict; write grid=Grid\(",
    "sweep.sweep(source, grid, 'out', where='all')": r"must be a whole number or Cluster\(",
    "sweep.sweep(source, grid, None)": "output=None must be",
    "sweep.Cluster(None)": "address=None must be text",
    # figures and reports
    "tacit.plot.convergence(None)": r"result is None; give the result of tacit.run\(",
    "tacit.plot.convergence([1])": "result is a list; give the result of",
    "tacit.plot.network(4)": "network is 4; give a network",
    "tacit.plot.mean_noise(tacit.mean_noise(task, ring, dpsg, rounds=3))": "cannot use masks",
    "report.render(3)": "data is 3; write data=ReportData",
    "report.write_report('x.html', None)": "data is None; write data=ReportData",
    "report.roc_figure(3)": "found is 3; give the result of compare",
}


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[str, str]]:
    """What each call ended in: "taken", or the error's class, and its message."""
    calls = [*TAKEN, *REFUSED]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BEGIN],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    line = next((x for x in done.stdout.splitlines() if x.startswith("ANSWERS ")), None)
    assert line is not None, done.stderr
    found = json.loads(line.removeprefix("ANSWERS "))
    return {call: (kind, told) for call, (kind, told) in zip(calls, found, strict=True)}


@pytest.mark.long
@pytest.mark.parametrize("call", TAKEN)
def test_what_is_plain_is_taken(answers: dict[str, tuple[str, str]], call: str) -> None:
    assert answers[call] == ("taken", "")


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_not_is_refused_at_once(answers: dict[str, tuple[str, str]], call: str) -> None:
    kind, told = answers[call]
    assert kind in ("ConfigError", "NetworkError", "ProblemError", "PrivacyError"), (kind, told)
    assert re.search(REFUSED[call], told), told
