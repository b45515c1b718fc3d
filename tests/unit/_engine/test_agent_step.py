"""What an agent compiles before others wait for it."""

import logging
import re

import jax
import numpy as np
import pytest

from tacit import Privacy, network
from tacit._engine.agent_step import AgentStep, At
from tacit._engine.compiled import lay_out
from tacit._engine.contract import contract
from tacit._engine.keys import agent_secret
from tacit.privacy import Masks
from tests.matrix import forget_programs
from tests.two_sums import AGENTS, RECORDS, TwoSums, task


@pytest.mark.long
def test_what_was_prepared_is_not_compiled_again(caplog: pytest.LogCaptureFixture) -> None:
    method = TwoSums(privacy=Privacy(clip=0.5, epsilon=2.0, masks=Masks()))
    problem = task()
    with jax.enable_x64(True):
        agreed = contract(
            problem,
            network.Coordinator(AGENTS),
            method,
            rounds=3,
            seed=0,
            trials=1,
            grid=True,
            most_records=RECORDS,
        )
        plan, roots = lay_out(agreed, problem)
        client, server = (AgentStep(plan, i, agent_secret(roots[0], i)) for i in (0, AGENTS))
        objective = jax.tree.map(lambda leaf: leaf[0], plan.objectives)
        forget_programs()

        def compiled() -> list[str]:
            with jax.log_compiles(), caplog.at_level(logging.WARNING):
                for phase in (1, 2):
                    answer = client.ask(At(0, phase), client.initial(), objective)
                    server.receive_sum(
                        At(0, phase), server.initial(), np.ones(answer.shape, np.int64), AGENTS
                    )
            found = re.findall(r"Compiling jit\((_ask|_receive)\)", caplog.text)
            caplog.clear()
            return found

        client.prepare(objective)
        server.prepare(None)
        assert not compiled()
        forget_programs()
        assert compiled() == ["_ask", "_receive"] * 2
