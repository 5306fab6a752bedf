"""Environments that people and policies play together, for Gymnasium and PettingZoo.

`make` gives a Gymnasium `Env` of one seat, `parallel_env` a PettingZoo `ParallelEnv` of all seats,
`make_vec` a Gymnasium `VectorEnv` of thousands of instances; `Dataset` has the data of a study, and `Study` talks to a running one. The rules are
compiled from Rust, and the same to the bit as those that people play in a browser.
"""

from importlib.metadata import version

from coplay._hosted import Event
from coplay.agent import Agent
from coplay.dataset import Dataset, Table
from coplay.env import Env
from coplay.episode import Episode
from coplay.parallel import ParallelEnv
from coplay.registration import make, make_vec, parallel_env, register_envs
from coplay.spec import Field, Spec, environments, params_schema, partners
from coplay.study import Study, StudyError
from coplay.vector import VectorEnv

__all__ = [
    "Agent",
    "Dataset",
    "Env",
    "Episode",
    "Event",
    "Field",
    "ParallelEnv",
    "Spec",
    "Study",
    "StudyError",
    "Table",
    "VectorEnv",
    "__version__",
    "environments",
    "make",
    "make_vec",
    "parallel_env",
    "params_schema",
    "partners",
    "register_envs",
]

__version__ = version("coplay")

register_envs()
