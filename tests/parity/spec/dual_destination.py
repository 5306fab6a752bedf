"""Executable specification of CEC's Dual Destination, written from its rules by hand.

Source: crossEnvCooperation 71ed348, `toy_coop`. Nothing here is shared with the code that is tested.
"""

RIGHT, DOWN, LEFT, UP, STAY = range(5)
STEP = {RIGHT: (1, 0), DOWN: (0, 1), LEFT: (-1, 0), UP: (0, -1), STAY: (0, 0)}
SIDE = 5


class DualDestination:
    def __init__(self, agents, green, pink, horizon=100):
        self.agents, self.green, self.pink = [tuple(a) for a in agents], [tuple(g) for g in green], [tuple(p) for p in pink]
        self.horizon, self.steps = horizon, 0

    def step(self, actions):
        """Returns the reward of both agents: 3 if each stands on its own green goal, minus 1 for the step."""
        targets = []
        for (x, y), action in zip(self.agents, actions):
            dx, dy = STEP[action]
            targets.append((min(max(x + dx, 0), SIDE - 1), min(max(y + dy, 0), SIDE - 1)))
        # Equal targets fail for both; swapping places is allowed.
        if targets[0] != targets[1]:
            self.agents = targets
        self.steps += 1
        both = all(agent in self.green for agent in self.agents)
        apart = self.agents[0] != self.agents[1]
        return (3 if both and apart else 0) - 1

    def observe(self, seat):
        """`[y][x][channel]`: oneself, the other, green goals, pink goals; flattened."""
        out = [[[0] * 4 for _ in range(SIDE)] for _ in range(SIDE)]
        for channel, places in enumerate([[self.agents[seat]], [self.agents[1 - seat]], self.green, self.pink]):
            for x, y in places:
                out[y][x][channel] = 1
        return [value for row in out for cell in row for value in cell]
