"""The host in Python, over its own protocol: Gymnasium, PettingZoo and plain environments."""

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

WORLDS = Path(__file__).parent / "hosted_worlds.py"

PAGE = Path(__file__).parents[2] / "docs" / "your-environment.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def find_snippet(words):
    """The one snippet of the page that has these words."""
    (found,) = [snippet for snippet in SNIPPETS if words in snippet]
    return found


HELLO, RESET, STEP, PICTURE, OBSERVE, DESCRIBE, POINT, CHOOSE, CHECK = range(1, 10)
READY, STEPPED, PIXELS, SHAPES, VALUES = range(0x81, 0x86)
FAULT = 0x8F


class Refused(Exception):
    pass


class Host:
    """A process of `coplay.host`, as the server talks to it."""

    def __init__(self, **world):
        env = {**os.environ, "SDL_VIDEODRIVER": "dummy", "PYTHONHASHSEED": "0"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", os.environ.get("COPLAY_HOST_MODULE", "coplay.host")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
        )
        hello = {"coplay_host": 1, "memory_bytes": 0, "world": {"folder": str(WORLDS.parent), **world}}
        try:
            _, body = self.ask(HELLO, json.dumps(hello).encode())
        except Refused:
            self.close()
            raise
        self.facts = json.loads(body)
        self.spec = self.facts["spec"]
        self.seats = self.spec["seats"]
        self.actions = [action["name"] for action in self.spec["actions"]]

    def ask(self, kind, body=b""):
        self.process.stdin.write(struct.pack("<IB", len(body), kind) + body)
        self.process.stdin.flush()
        length, answer = struct.unpack("<IB", self.process.stdout.read(5))
        body = self.process.stdout.read(length)
        if answer == FAULT:
            raise Refused(json.loads(body)["text"])
        return answer, body

    def _step(self, kind, body):
        answer, body = self.ask(kind, body)
        assert answer == STEPPED
        names = ("over", "seats", "acting", "terminated", "truncated", "score")
        step = dict(zip(names, struct.unpack_from("<BBHHHq", body), strict=True))
        rows = [struct.unpack_from("<fqQQ", body, 16 + 28 * seat) for seat in range(self.seats)]
        step["rewards"], step["scores"], step["masks"], step["hashes"] = map(list, zip(*rows, strict=True))
        (events,) = struct.unpack_from("<H", body, 16 + 28 * self.seats)
        count = len(self.spec["components"])
        rest = 18 + 28 * self.seats + 8 * events
        parts = struct.unpack_from(f"<{count * self.seats}f", body, rest)
        step["components"] = [list(parts[seat * count :][:count]) for seat in range(self.seats)]
        step["infos"] = json.loads(body[rest + 4 * count * self.seats :] or b"[]")
        return step

    def reset(self, seed):
        return self._step(RESET, struct.pack("<Q", seed))

    def step(self, *names):
        actions = [self.actions.index(name) for name in names]
        return self._step(STEP, struct.pack(f"<{len(actions)}H", *actions))

    def picture(self, seat=0):
        return self.ask(PICTURE, bytes([seat]))

    def observe(self, seat=0):
        _, body = self.ask(OBSERVE, bytes([seat]))
        return struct.unpack(f"<{len(body) // 4}f", body)

    def choose(self, seat=0):
        _, body = self.ask(CHOOSE, bytes([seat]))
        return self.actions[struct.unpack("<H", body)[0]]

    def check(self):
        return json.loads(self.ask(CHECK, b'{"steps": 20, "seed": 1}')[1])

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture
def host():
    opened = []

    def start(**world):
        opened.append(Host(**world))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_a_gymnasium_environment_is_one_seat(host):
    cart = host(gymnasium="CartPole-v1", action_names=["left", "right"], noop="left")
    assert (cart.seats, cart.spec["tick_hz"], cart.spec["horizon"]) == (1, 50, 500)
    assert cart.spec["actions"][1]["keys"] == ["ArrowRight", "KeyD"]
    assert cart.spec["observation"] == [{"name": "observation", "shape": [4]}]
    first = cart.reset(7)
    assert len(cart.observe()) == 4 and not first["over"]
    steps = 0
    while not (step := cart.step("right"))["over"]:
        steps += 1
    assert step["terminated"] == 1 and step["score"] == steps + 1
    assert first == cart.reset(7)
    assert first["hashes"] != cart.reset(8)["hashes"]


def test_a_picture_of_pixels_has_the_size_of_render(host):
    cart = host(gymnasium="CartPole-v1")
    cart.reset(1)
    kind, body = cart.picture()
    assert kind == PIXELS and struct.unpack_from("<II", body) == (600, 400)
    assert len(body) == 8 + 600 * 400 * 3
    assert "pygame" in cart.check()["why"]


def test_a_continuous_space_needs_names_for_its_actions(host):
    with pytest.raises(Refused, match=r"name some of its actions"):
        host(gymnasium="Pendulum-v1", render="rgb_array")
    pendulum = host(gymnasium="Pendulum-v1", actions={"stay": [0.0], "left": [-2.0]}, frame_skip=2)
    assert pendulum.actions == ["stay", "left"] and pendulum.spec["noop"] == 0
    assert pendulum.spec["horizon"] == 100
    pendulum.reset(1)
    assert pendulum.step("left")["hashes"] != pendulum.step("stay")["hashes"]


def test_agents_take_turns_and_only_legal_moves_are_offered(host):
    game = host(pettingzoo="classic/tictactoe_v3")
    assert (game.seats, game.spec["tick_hz"], game.actions[-1]) == (2, 0, "wait")
    step = game.reset(1)
    wait = 1 << 9
    assert step["acting"] == 0b01 and step["masks"] == [0b1_1111_1111 | wait, wait]
    assert game.step("wait", "wait")["acting"] == 0b01
    for at, cell in enumerate([0, 3, 1, 4]):
        names = ["wait", "wait"]
        names[at % 2] = f"action_{cell}"
        step = game.step(*names)
    assert step["masks"][0] == 0b1_1110_0100 | wait
    assert game.step("action_0", "wait")["hashes"] == step["hashes"]
    step = game.step("action_2", "wait")
    assert step["over"] and step["rewards"] == [1.0, -1.0] and step["terminated"] == 0b11
    assert step["scores"] == [1, -1]


def test_agents_choose_at_once(host):
    game = host(pettingzoo="classic/rps_v2", tick_hz=0, kwargs={"max_cycles": 2})
    assert game.reset(1)["acting"] == 0b11
    step = game.step("action_0", "action_1")
    assert step["rewards"] == [-1.0, 1.0] and not step["over"]
    assert game.step("action_0", "action_0")["over"]


def test_spaces_are_flattened(host):
    mixed = host(python="hosted_worlds.py:Mixed", infos=["lives", "array"])
    assert mixed.actions == ["0_0", "0_1", "0_2", "1_0", "1_1", "1_2"]
    names = [(field["name"], field["shape"]) for field in mixed.spec["observation"]]
    assert names == [("image", [2, 2]), ("inner.0", []), ("inner.1", [3])]
    assert mixed.spec["observation"][1]["range"] == [0.0, 4.0]
    assert any("`words`" in note for note in mixed.facts["notes"])
    mixed.reset(1)
    step = mixed.step("1_2")
    assert step["rewards"] == [12.0]
    assert step["infos"] == [[0, "lives", 3], [0, "array", [1, 2]]]
    assert mixed.observe() == (0, 1, 2, 3, 4, 1, 0, 1)


def test_a_wrapper_goes_around(host):
    wrapper = {"gymnasium.wrappers:TimeLimit": {"max_episode_steps": 3}}
    mixed = host(python="hosted_worlds.py:Mixed", wrappers=[wrapper])
    mixed.reset(1)
    ends = [mixed.step("0_0") for _ in range(3)]
    assert [step["over"] for step in ends] == [0, 0, 1] and ends[2]["truncated"] == 1


def test_seats_may_have_different_actions(host):
    game = host(python="hosted_worlds.py:Unequal")
    assert game.spec["seat_actions"] == [[0, 1], [0, 1, 2]]
    game.reset(1)
    assert game.step("stay", "jump")["rewards"] == [0.0, 2.0]


def test_a_seat_sees_its_own_picture(host):
    game = host(python="hosted_worlds.py:Unequal")
    game.reset(1)
    (one, first), (two, second) = game.picture(0), game.picture(1)
    assert one == two == SHAPES and first != second
    assert json.loads(second)["items"][0][:5] == [2, 1.0, 0.0, 1.0, 1.0]


def test_an_own_state_that_can_be_copied_is_found_sound(host):
    told = host(python="hosted_worlds.py:Unequal").check()
    assert told["ok"], told["why"]
    told = host(python="hosted_worlds.py:Module", render="draw").check()
    assert not told["ok"] and "something outside of itself" in told["why"]


def test_what_is_missing_is_named(host):
    with pytest.raises(Refused, match=r"knows no environment `Nothing-v0`"):
        host(gymnasium="Nothing-v0")
    with pytest.raises(Refused, match=r"`ale_py`.*requirements"):
        host(gymnasium="ALE/Pong-v5")
    with pytest.raises(Refused, match=r"exactly one of"):
        host()
    with pytest.raises(Refused, match=r"there are 1 `action_names` for 2 actions"):
        host(gymnasium="CartPole-v1", action_names=["left"])
    with pytest.raises(Refused, match=r"reset.*two values"):
        host(python="hosted_worlds.py:OldReset")


def test_arguments_that_nobody_takes_are_named(host):
    with pytest.raises(Refused, match=r"OldReset takes no argument `horizon`; it takes none.*key of the block `env`"):
        host(python="hosted_worlds.py:OldReset", kwargs={"horizon": 3})
    with pytest.raises(Refused, match=r"CartPole-v1 takes no argument `gravity`; the documentation of CartPole-v1 lists its arguments"):
        host(gymnasium="CartPole-v1", kwargs={"gravity": 3})


def test_the_file_of_the_page_is_played(host, tmp_path):
    (tmp_path / "my_game.py").write_text(SNIPPETS[0])
    game = host(python="my_game.py", folder=str(tmp_path))
    assert game.spec["id"] == "my_game" and len(game.facts["packages"]["my_game.py"]) == 64
    game.reset(1)
    assert game.picture()[0] == PIXELS


def test_the_picture_of_the_page_is_drawn(host, tmp_path):
    draw = "".join(f"    {line}\n" for line in find_snippet("progress").splitlines())
    text = f"from hosted_worlds import Unequal\n\n\nclass Drawn(Unequal):\n{draw}"
    (tmp_path / "drawn.py").write_text(text)
    (tmp_path / "hosted_worlds.py").write_text(WORLDS.read_text())
    game = host(python="drawn.py:Drawn", folder=str(tmp_path))
    game.reset(1)
    kind, body = game.picture()
    looks = [item[5] for item in json.loads(body)["items"]]
    assert kind == SHAPES and looks == ["rect", "ellipse", "ellipse", "rect", "text", "progress"]


def test_the_function_of_the_page_chooses(host, tmp_path):
    (tmp_path / "my_game.py").write_text(SNIPPETS[0] + find_snippet("def choose("))
    world = {"python": "my_game.py", "action_names": ["down", "up"], "noop": "down", "folder": str(tmp_path)}
    game = host(**world, policy="my_game.py:choose")
    chosen = set()
    for seed in range(8):
        game.reset(seed)
        chosen.add(game.choose())
        assert game.choose() == ("up" if game.observe()[0] > 0 else "down")
    assert chosen == {"down", "up"}
    with pytest.raises(Refused, match="names no function that chooses"):
        host(**world).choose()


def test_another_version_of_an_environment_is_refused_with_those_that_are_there(host):
    with pytest.raises(Refused, match="no `classic.rps_v9`; closest: rps_v2"):
        host(pettingzoo="classic/rps_v9")


def test_rewards_have_parts_and_a_directive_goes_on_by_itself(host):
    walk = host(python="hosted_worlds.py:Walk")
    assert walk.spec["components"] == ["end", "effort"]
    assert (walk.spec["reward_range"], walk.spec["perfect_information"]) == ([-0.25, 1.0], True)
    kinds = {action["name"]: (action["directive"], action["momentary"]) for action in walk.spec["actions"]}
    assert (kinds["go_to_end"], kinds["step"]) == ((True, True), (False, False))
    walk.reset(1)
    steps = [walk.step("go_to_end", "step"), walk.step("wait", "wait"), walk.step("wait", "step")]
    assert [step["components"] for step in steps] == [
        [[0.0, -0.25], [0.0, -0.25]],
        [[0.0, -0.25], [0.0, 0.0]],
        [[1.0, -0.25], [0.0, -0.25]],
    ]
    assert [step["rewards"] for step in steps] == [[-0.25, -0.25], [-0.25, 0.0], [0.75, -0.25]]
    assert walk.observe(0) == (3.0,)
    assert walk.step("wait", "wait")["components"] == [[0.0, 0.0], [0.0, 0.0]]


def test_parts_that_are_not_the_whole_reward_are_refused(host):
    place = r"\(in worlds.py of Coplay's host, line \d+\)"
    with pytest.raises(Refused, match=rf"^ValueError: .* add up to -?[\d.]+, and its reward is .*\n{place}\n$"):
        host(python="hosted_worlds.py:Lossy")
