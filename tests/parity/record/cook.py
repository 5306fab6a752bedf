"""A scripted cook that delivers, on a plain view of a kitchen; with some random actions among its own.

A view is a dict: `grid` (rows in the letters of overcooked_ai, without starts), `players` [[x, y, direction, thing]],
`pots` {(x, y): (letters, tick, time)}, `lying` {(x, y): thing}, `orders` (a list of recipes, each a sorted text such as "oot"),
`starts_by_interact`, `mixes`, `full`.
"""

from collections import deque

WAYS = [(0, -1), (0, 1), (1, 0), (-1, 0)]
STAY, INTERACT = 4, 5
SOURCES = {"o": "O", "t": "T", "d": "D"}


def lacks(order, contents):
    """The letters that a pot needs for an order; `None` if it can no longer become such a soup."""
    rest = list(order)
    for letter in contents:
        if letter not in rest:
            return None
        rest.remove(letter)
    return rest


class Cooks:
    """Plays all seats of a kitchen."""

    def __init__(self, rng, noise):
        self.rng, self.noise = rng, noise

    def act(self, view):
        self.view = view
        grid = view["grid"]
        self.floor = {(x, y) for y, row in enumerate(grid) for x, sign in enumerate(row) if sign == " "}
        self.at = {}
        for y, row in enumerate(grid):
            for x, sign in enumerate(row):
                self.at.setdefault(sign, []).append((x, y))
        self.areas = [self.area((x, y)) for x, y, _, _ in view["players"]]
        self.order = view["orders"][view.get("turn", 0) % len(view["orders"])]
        self.promised = []
        actions = []
        for seat in range(len(view["players"])):
            if self.rng.random() < self.noise:
                actions.append(self.rng.randrange(6))
            else:
                actions.append(self.choose(seat))
        return actions

    def area(self, start):
        seen, queue = {start}, deque([start])
        while queue:
            x, y = queue.popleft()
            for dx, dy in WAYS:
                place = (x + dx, y + dy)
                if place in self.floor and place not in seen:
                    seen.add(place)
                    queue.append(place)
        return seen

    def reaches(self, seat, place):
        x, y = place
        return any((x + dx, y + dy) in self.areas[seat] for dx, dy in WAYS)

    def reached(self, seat, places):
        return [place for place in places if self.reaches(seat, place)]

    def wanted(self, contents):
        """The letters that a pot still needs."""
        view = self.view
        if len(contents) >= view["full"]:
            return []
        for order in [self.order, *view["orders"]]:
            rest = lacks(order, contents)
            if rest is not None:
                return rest
        if view["starts_by_interact"]:
            return []
        return [contents[0] if not view["mixes"] else "o"] * (view["full"] - len(contents))

    def choose(self, seat):
        held = self.view["players"][seat][3]
        if held == "":
            return self.fetch(seat)
        return self.bring(seat, held)

    def fetch(self, seat):
        view = self.view
        pots, lying, players = view["pots"], view["lying"], view["players"]
        others = [other for other in range(len(players)) if other != seat]
        # Soups that lie where they can be served.
        if self.reached(seat, self.at["S"]):
            soups = self.reached(seat, [p for p, thing in lying.items() if thing.startswith("s")])
            if soups:
                return self.go(seat, soups)
        idle = [p for p, (c, tick, _) in pots.items() if tick < 0 and c and not self.wanted(c)]
        if view["starts_by_interact"] and self.reached(seat, idle):
            return self.go(seat, self.reached(seat, idle))
        busy = [p for p, (_, tick, _) in pots.items() if tick >= 0]
        dishes = sum(player[3] == "d" for player in players) + self.promised.count("d")
        if len(busy) > dishes and self.useful(seat, "d", busy):
            goals = self.source(seat, "d", busy)
            if goals:
                self.promised.append("d")
                return self.go(seat, goals)
        needed = [letter for c, tick, _ in pots.values() if tick < 0 for letter in self.wanted(c)]
        for letter in [player[3] for player in players] + self.promised:
            if letter in needed:
                needed.remove(letter)
        filling = [p for p, (c, tick, _) in pots.items() if tick < 0 and self.wanted(c)]
        for letter in needed:
            if self.useful(seat, letter, filling):
                goals = self.source(seat, letter, filling)
                if goals:
                    self.promised.append(letter)
                    return self.go(seat, goals)
        return self.wander(seat)

    def useful(self, seat, thing, pots):
        """Returns whether one who holds the thing can use it or pass it on, and not too many lie already."""
        if self.reached(seat, pots):
            return True
        waiting = sum(lying == thing for lying in self.view["lying"].values())
        return waiting < 2 and bool(self.passing(seat, pots))

    def source(self, seat, thing, pots):
        """Where the thing can be taken: from counters only if one can use it."""
        goals = self.reached(seat, self.at.get(SOURCES[thing], []))
        if self.reached(seat, pots):
            lying = [place for place, other in self.view["lying"].items() if other == thing]
            near = self.reached(seat, lying)
            goals = near or goals
        return goals

    def passing(self, seat, targets):
        """Free counters from which another cook can take a thing to a target."""
        takers = [o for o in range(len(self.areas)) if o != seat and self.reached(o, targets)]
        free = [place for place in self.at["X"] if place not in self.view["lying"]]
        return [place for place in self.reached(seat, free) if any(self.reaches(o, place) for o in takers)]

    def bring(self, seat, held):
        pots = self.view["pots"]
        if held.startswith("s"):
            targets = self.at["S"]
        elif held == "d":
            targets = [p for p, (_, tick, time) in pots.items() if tick >= 0]
            ready = [p for p, (_, tick, time) in pots.items() if tick >= time]
            targets = ready or targets
        else:
            targets = [p for p, (c, tick, _) in pots.items() if tick < 0 and held in self.wanted(c)]
        near = self.reached(seat, targets)
        if near:
            return self.go(seat, near)
        handed = self.passing(seat, targets or list(pots))
        if handed and not self.reached(seat, targets or list(pots)):
            return self.go(seat, handed)
        if self.rng.random() < 0.1:
            free = self.reached(seat, [place for place in self.at["X"] if place not in self.view["lying"]])
            if free:
                return self.go(seat, free)
        return self.wander(seat)

    def wander(self, seat):
        return self.rng.choice([STAY, STAY, 0, 1, 2, 3])

    def go(self, seat, goals):
        """The next action on the way to the nearest of some things, around the other cooks if that is possible."""
        players = self.view["players"]
        others = {(p[0], p[1]) for number, p in enumerate(players) if number != seat}
        for blocked in (others, set()):
            action = self.way(seat, goals, blocked)
            if action is not None:
                return action
        return STAY

    def way(self, seat, goals, blocked):
        x, y, facing, held = self.view["players"][seat]
        goals = set(goals)
        queue, first = deque([(x, y)]), {(x, y): None}
        while queue:
            px, py = queue.popleft()
            for way, (dx, dy) in enumerate(WAYS):
                place = (px + dx, py + dy)
                if place in goals:
                    if (px, py) != (x, y):
                        return first[(px, py)]
                    if facing != way:
                        return way
                    pot = self.view["pots"].get(place)
                    waits = held == "d" and pot is not None and not 0 <= pot[2] <= pot[1]
                    return STAY if waits else INTERACT
                if place in self.floor and place not in first and place not in blocked:
                    first[place] = way if (px, py) == (x, y) else first[(px, py)]
                    queue.append(place)
        return None
