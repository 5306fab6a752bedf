"""Records Hanabi of JaxMARL 0.2.0. A layout is a number of players, or `small` and `six` for other decks."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from hanabi_players import PLAYERS, Table
from jaxmarl.environments.hanabi.hanabi import HanabiEnv
from jaxmarl_recording import arguments, hashes, sparse, write

LAYOUTS = {
    "2": {"num_agents": 2},
    "3": {"num_agents": 3},
    "4": {"num_agents": 4},
    "5": {"num_agents": 5},
    "small": {
        "num_agents": 2,
        "num_colors": 2,
        "num_ranks": 4,
        "hand_size": 3,
        "max_info_tokens": 3,
        "max_life_tokens": 1,
        "num_cards_of_rank": [3, 2, 2, 1],
    },
    "six": {"num_agents": 3, "num_colors": 6, "hand_size": 4},
}
BATCH = 250


def cards(one_hot):
    """Numbers of cards from their one-hot form, -1 for none: color * ranks + rank."""
    flat = one_hot.reshape(*one_hot.shape[:-2], -1)
    return np.where(flat.any(-1), flat.argmax(-1), -1)


def index(one_hot):
    """The index in a one-hot form, -1 for none."""
    assert one_hot.sum(-1).max() <= 1
    return np.where(one_hot.any(-1), one_hot.argmax(-1), -1)


class Games:
    """Games side by side."""

    def __init__(self, settings, seed, count):
        settings = {**settings}
        if "num_cards_of_rank" in settings:
            settings["num_cards_of_rank"] = np.array(settings["num_cards_of_rank"])
        self.env = HanabiEnv(**settings)
        self.agents = self.env.agents
        self.step = jax.jit(jax.vmap(self.env.step_env, (None, 0, 0)))
        self.legal = jax.jit(jax.vmap(self.env.get_legal_moves))
        self.key = jax.random.PRNGKey(seed)
        keys = jax.random.split(self.key, count)
        self.observations, self.state = jax.jit(jax.vmap(self.env.reset))(keys)
        self.look()

    def look(self):
        """Fetches what the games have come to."""
        state = jax.device_get(self.state)
        self.seen = np.stack([np.asarray(self.observations[a]) for a in self.agents], 1)
        legal = self.legal(self.state)
        self.moves = np.stack([np.asarray(legal[a]) for a in self.agents], 1) > 0
        self.fields = {
            "hands": cards(state.player_hands),
            "known": (state.card_knowledge > 0) @ (1 << np.arange(state.card_knowledge.shape[-1])),
            "color": index(state.colors_revealed),
            "rank": index(state.ranks_revealed),
            "fireworks": state.fireworks.sum(-1).astype(int),
            "info": state.info_tokens.sum(-1).astype(int),
            "lives": state.life_tokens.sum(-1).astype(int),
            "turn": state.cur_player_idx.argmax(-1),
            "last_round": state.last_round_count,
            "score": state.score,
            "step": state.step,
            "done": state.done.astype(int),
            "out_of_lives": state.out_of_lives.astype(int),
        }
        self.knowledge = state.card_knowledge > 0
        self.deck, self.dealt = cards(state.deck), state.num_cards_dealt
        self.discards, self.discarded = cards(state.discard_pile), state.num_cards_discarded

    def record(self, game):
        """The state of a game."""
        x = {name: np.ravel(values[game]).tolist() for name, values in self.fields.items()}
        x["deck"] = self.deck[game][self.deck[game] >= 0].tolist()
        x["discards"] = self.discards[game][self.discards[game] >= 0].tolist()
        assert len(x["discards"]) == self.discarded[game]
        assert len(x["deck"]) == max(self.env.deck_size - self.dealt[game], 0)
        return x

    def looks(self, game, whole, hashed):
        """The observations and legal actions of the agents of a game."""
        count = len(self.agents)
        at = slice(game * count, (game + 1) * count)
        look = {"oh": hashed[at], "legal": [int(bits @ (1 << np.arange(len(bits)))) for bits in self.moves[game]]}
        if whole:
            look["obs"] = [sparse(row) for row in self.seen[game]]
        return look

    def table(self, game):
        """A game as its players see it."""
        fields = self.fields
        told = np.stack([fields["color"][game] >= 0, fields["rank"][game] >= 0], -1)
        gone = self.discards[game]
        return Table(
            self.env,
            fields["hands"][game],
            self.knowledge[game],
            told,
            fields["fireworks"][game],
            gone[gone >= 0],
            fields["info"][game],
            fields["turn"][game],
        )

    def hashed(self):
        """Hashes of all observations, game by game."""
        return hashes(self.seen.reshape(-1, self.seen.shape[-1]))


def episodes(name, seed, first, count, whole):
    """Plays games side by side and gives their lines."""
    settings = LAYOUTS[name]
    games = Games(settings, seed, count)
    players = [np.random.default_rng([seed, first, game]) for game in range(count)]
    hashed = games.hashed()
    lines = []
    for game in range(count):
        hands = games.fields["hands"][game].ravel().tolist()
        deck = hands + games.record(game)["deck"]
        header = {
            "type": "episode",
            "format": 2,
            "original": "jaxmarl-0.2.0",
            "env": f"Hanabi-{name}",
            "episode": first + game,
            "seed": seed,
            "n_agents": len(games.agents),
            "config": settings,
            "obs_dim": games.seen.shape[-1],
            "deck": deck,
            "reset": {"x": games.record(game), **games.looks(game, first + game < whole, hashed)},
        }
        lines.append([header])
    going, noop = np.ones(count, bool), games.env.num_moves - 1
    while going.any():
        actions = np.full((count, len(games.agents)), noop)
        for game in np.nonzero(going)[0]:
            player = PLAYERS[(first + game) % len(PLAYERS)]
            seat = games.fields["turn"][game]
            legal = np.nonzero(games.moves[game][seat])[0]
            actions[game][seat] = player(games.table(game), legal.tolist(), players[game])
        joint = {a: jnp.asarray(actions[:, at]) for at, a in enumerate(games.agents)}
        games.observations, games.state, rewards, dones, _ = games.step(games.key, games.state, joint)
        paid = np.stack([np.asarray(rewards[a]) for a in games.agents], 1)
        ended = np.stack([np.asarray(dones[a]) for a in games.agents], 1)
        games.look()
        hashed = games.hashed()
        for game in np.nonzero(going)[0]:
            line = {"t": len(lines[game]), "a": actions[game].tolist(), "r": paid[game].tolist()}
            line |= {"te": ended[game].astype(int).tolist(), "x": games.record(game)}
            lines[game].append(line | games.looks(game, first + game < whole, hashed))
        going &= ~ended.any(1)
    return lines


def main():
    read = arguments(__doc__, "numbers of players and other decks, such as 2,5,six; all by default")
    names = list(LAYOUTS) if read.layouts == "all" else read.layouts.split(",")
    for place, name in enumerate(names):
        lines, scores = [], {player.__name__: [] for player in PLAYERS}
        for first in range(0, read.episodes, BATCH):
            count = min(BATCH, read.episodes - first)
            seed = read.seed * 1000 + first // BATCH + 100_000 * place
            for game, episode in enumerate(episodes(name, seed, first, count, read.whole)):
                lines.extend(episode)
                player = PLAYERS[(first + game) % len(PLAYERS)].__name__
                scores[player].append(episode[-1]["x"]["score"][0])
        write(read.out, f"Hanabi-{name}", lines)
        for player, made in scores.items():
            if made:
                print(f"    {player}: {len(made)} games, score {np.mean(made):.1f} on average, {max(made)} at most")


if __name__ == "__main__":
    main()
