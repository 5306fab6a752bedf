"""Records Overcooked V2 of JaxMARL 0.2.0, in all its layouts and in seeded random ones of its format."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Kitchens are whole numbers, which no optimisation changes: compiling would take longer than playing.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxmarl.environments.overcooked_v2 import layouts as original
from jaxmarl.environments.overcooked_v2.layouts import Layout, overcooked_v2_layouts
from jaxmarl.environments.overcooked_v2.overcooked import OvercookedV2
from overcooked_v2_cooks import Game, Kitchen, cook
from jaxmarl_recording import arguments, hashes, sparse, write

STEPS = 200
# Settings of the original, and for how many of ten episodes they hold.
SETTINGS = [
    (2, {}),
    (
        2,
        {
            "agent_view_size": 2,
            "negative_rewards": True,
            "sample_recipe_on_delivery": True,
            "indicate_successful_delivery": True,
        },
    ),
    (1, {"agent_view_size": 3, "random_agent_positions": True, "indicate_successful_delivery": True}),
    (1, {"agent_view_size": 6, "start_cooking_interaction": True, "sample_recipe_on_delivery": True}),
    (1, {"random_reset": True, "negative_rewards": True, "indicate_successful_delivery": True}),
    (
        3,
        {
            "agent_view_size": 1,
            "negative_rewards": True,
            "start_cooking_interaction": True,
            "random_reset": True,
            "sample_recipe_on_delivery": True,
        },
    ),
]
# How often a cook does what leads to soups, by number of the episode; otherwise it acts at random.
CARE = [0.95, 0.85, 0.6, 0.95, 0.9, 0.9, 0.3, 0.95, 0.9, 0.0]
RANDOM = 6


def texts():
    """The layouts of the original as texts, by name, with their recipes and whether starts are swapped."""
    code = Path(original.__file__).read_text()
    entries = re.findall(r'^    "(\w+)": Layout\.from_string\(\s*(\w+)', code, re.M)
    for name, text in entries:
        yield name, {"layout": getattr(original, text)}, overcooked_v2_layouts[name]


def random_layout(seed, number):
    """A layout of one room with things at drawn places, for one to six cooks; one has an open border."""
    rng = np.random.default_rng([2503, seed, number])
    height, width = int(rng.integers(5, 9)), int(rng.integers(5, 10))
    grid = np.full((height, width), "W")
    grid[1:-1, 1:-1] = " "
    cooks = 1 + number % 6
    inner = [(y, x) for y in range(1, height - 1) for x in range(1, width - 1)]
    edge = [(y, x) for y in range(height) for x in range(width) if (y in (0, height - 1)) != (x in (0, width - 1))]
    rng.shuffle(inner)
    rng.shuffle(edge)
    ingredients = int(rng.integers(1, 5))
    things = [*"BPRXP", *[str(number) for number in range(ingredients)]]
    things += ["L"] if number % 2 else []
    for (y, x), thing in zip(edge, things):
        grid[y, x] = thing
    if number == 1:
        for y, x in edge[len(things) : len(things) + 6]:
            grid[y, x] = " "
    for y, x in inner[:cooks]:
        grid[y, x] = "A"
    for y, x in inner[cooks : cooks + int(rng.integers(0, 3))]:
        grid[y, x] = "W"
    return "\n" + "\n".join("".join(row) for row in grid) + "\n"


def chosen(names, seed):
    """Name, header fields and layout of each layout to record."""
    known = list(texts())
    for number in range(RANDOM):
        text = random_layout(seed, number)
        known.append((f"random{number}", {"layout": text}, Layout.from_string(text)))
    if names == "all":
        return known
    names = names.split(",")
    return [entry for entry in known if entry[0] in names]


class Games:
    """Games of one layout and settings, side by side."""

    def __init__(self, layout, settings, keys):
        self.env = OvercookedV2(layout=layout, max_steps=STEPS, **settings)
        self.agents = self.env.agents
        self.step = jax.jit(jax.vmap(self.env.step_env))
        self.keys = keys
        self.observations, self.state = jax.jit(jax.vmap(self.env.reset))(keys)
        self.look()

    def look(self):
        """Fetches what the games have come to."""
        self.now = jax.device_get(self.state)
        self.seen = np.stack([np.asarray(self.observations[agent]) for agent in self.agents], 1)

    def record(self, game):
        """The state of a game."""
        now, agents = self.now, self.now.agents
        return {
            "pos": np.stack([agents.pos.x[game], agents.pos.y[game]], -1).ravel().tolist(),
            "dir": agents.dir[game].tolist(),
            "inv": agents.inventory[game].tolist(),
            "items": now.grid[game, ..., 1].ravel().tolist(),
            "timer": now.grid[game, ..., 2].ravel().tolist(),
            "recipe": [int(now.recipe[game])],
            "delivered": [int(now.new_correct_delivery[game])],
            "step": [int(now.step[game])],
        }

    def looks(self, whole):
        """Hashes of what the agents observe, game by game, and the observations themselves where they are kept."""
        flat = self.seen.reshape(*self.seen.shape[:2], -1)
        count = flat.shape[1]
        hashed = hashes(flat.reshape(-1, flat.shape[-1]))
        for game in range(flat.shape[0]):
            look = {"oh": hashed[game * count : (game + 1) * count]}
            if whole[game]:
                look["obs"] = [sparse(row) for row in flat[game]]
            yield look

    def cooks(self, game):
        agents = self.now.agents
        cells = zip(agents.pos.x[game].tolist(), agents.pos.y[game].tolist())
        return list(zip(cells, agents.dir[game].tolist(), agents.inventory[game].tolist()))


def episodes(layout, fields, settings, seed, numbers, whole):
    """Plays the episodes of these numbers and gives their lines, and how many soups were delivered."""
    keys = jnp.stack([jax.random.fold_in(jax.random.PRNGKey(seed), number) for number in numbers])
    games = Games(layout, settings, keys)
    players = [np.random.default_rng([seed, number]) for number in numbers]
    kept = [number < whole for number in numbers]
    kitchen = Kitchen(layout.static_objects, layout.num_ingredients)
    lines, soups = [], 0
    for game, look in enumerate(games.looks(kept)):
        header = {
            "type": "episode",
            "format": 2,
            "original": "jaxmarl-0.2.0",
            "env": fields["env"],
            "episode": numbers[game],
            "seed": seed,
            "n_agents": len(games.agents),
            "config": {
                "layout": fields["layout"],
                "possible_recipes": [list(recipe) for recipe in layout.possible_recipes],
                "swap_agents": fields["swap_agents"],
                "max_steps": STEPS,
                **settings,
            },
            "obs_dim": int(np.prod(games.seen.shape[2:])),
            "reset": {"x": games.record(game), **look},
        }
        lines.append([header])
    for _ in range(STEPS):
        actions = np.zeros((len(numbers), len(games.agents)), int)
        for game, number in enumerate(numbers):
            now = games.now
            state = Game(
                kitchen,
                now.grid[game],
                games.cooks(game),
                int(now.recipe[game]),
                settings.get("start_cooking_interaction", False),
            )
            for seat in range(len(games.agents)):
                actions[game, seat] = cook(state, seat, players[game], CARE[number % len(CARE)])
        joint = {agent: jnp.asarray(actions[:, seat]) for seat, agent in enumerate(games.agents)}
        games.keys = jax.vmap(lambda key: jax.random.split(key)[0])(games.keys)
        games.observations, games.state, rewards, dones, infos = games.step(games.keys, games.state, joint)
        games.look()
        stack = lambda values: np.stack([np.asarray(values[agent]) for agent in games.agents], 1)
        paid, shaped, done = stack(rewards), stack(infos["shaped_reward"]), stack(dones)
        for game, look in enumerate(games.looks(kept)):
            line = {"t": len(lines[game]), "a": actions[game].tolist(), "r": paid[game].tolist()}
            line |= {"shaped": shaped[game].tolist(), "tr": done[game].astype(int).tolist()}
            line |= {"x": games.record(game), **look}
            lines[game].append(line)
            soups += line["x"]["delivered"][0]
    return lines, soups


def main():
    read = arguments(__doc__, "names such as cramped_room,random0; all by default")
    for place, (name, fields, layout) in enumerate(chosen(read.layouts, read.seed)):
        lines, soups, first = [], 0, 0
        fields["env"] = f"OvercookedV2-jaxmarl-{name}"
        starts = [(x, y) for y, row in enumerate(fields["layout"].strip("\n").split("\n")) for x, c in enumerate(row) if c == "A"]
        fields["swap_agents"] = starts != list(layout.agent_positions)
        for number, (of_ten, settings) in enumerate(SETTINGS):
            last = number + 1 == len(SETTINGS)
            count = read.episodes - first if last else min(of_ten * read.episodes // 10, read.episodes - first)
            if count > 0:
                numbers = list(range(first, first + count))
                seed = read.seed * 1000 + place
                played, made = episodes(layout, fields, settings, seed, numbers, read.whole)
                lines.extend(line for episode in played for line in episode)
                soups += made
            first += max(count, 0)
        write(read.out, f"OvercookedV2-jaxmarl-{name}", lines)
        print(f"    {soups} wanted soups delivered", flush=True)


if __name__ == "__main__":
    main()
