"""Cooks for recordings of JaxMARL's Overcooked V2: they fetch, cook, pass things over counters, and deliver."""

from collections import deque

import numpy as np

FLOOR, COUNTER, GOAL, POT, INDICATOR, BUTTON, PLATES, PILE = 0, 1, 4, 5, 6, 7, 9, 10
PLATE, COOKED = 1, 2
RIGHT, DOWN, LEFT, UP, STAY, INTERACT = range(6)
# By action: the step right and down, and the direction.
STEPS = {RIGHT: (1, 0, 2), DOWN: (0, 1, 1), LEFT: (-1, 0, 3), UP: (0, -1, 0)}


def counts(item, ingredients):
    """How many of each ingredient an item has."""
    return [(item >> (2 + 2 * number)) & 3 for number in range(ingredients)]


class Kitchen:
    """A layout and the ways in it."""

    def __init__(self, static, ingredients):
        self.static, self.ingredients = static, ingredients
        self.height, self.width = static.shape
        self.parts = self.find_parts()
        self.shared = [cell for cell in self.where(static == COUNTER) if len(self.reached_from(cell)) > 1]

    def where(self, mask):
        return [(int(x), int(y)) for y, x in zip(*np.nonzero(mask))]

    def beside(self, cell):
        for action, (dx, dy, _) in STEPS.items():
            x, y = cell[0] + dx, cell[1] + dy
            if 0 <= x < self.width and 0 <= y < self.height:
                yield action, (x, y)

    def is_floor(self, cell):
        return self.static[cell[1], cell[0]] == FLOOR

    def find_parts(self):
        parts, number = {}, 0
        for start in self.where(self.static == FLOOR):
            if start in parts:
                continue
            queue = [start]
            parts[start] = number
            while queue:
                for _, cell in self.beside(queue.pop()):
                    if self.is_floor(cell) and cell not in parts:
                        parts[cell] = number
                        queue.append(cell)
            number += 1
        return parts

    def reached_from(self, cell):
        """The parts whose cooks reach a cell with their hands."""
        return {self.parts[floor] for _, floor in self.beside(cell) if floor in self.parts}


class Game:
    """A state, as cooks look at it."""

    def __init__(self, kitchen, grid, cooks, recipe, starts_by_hand):
        self.kitchen, self.grid, self.cooks, self.starts_by_hand = kitchen, grid, cooks, starts_by_hand
        self.wanted = counts(recipe, kitchen.ingredients)

    def items(self, static, test):
        """Cells with a thing whose item passes a test."""
        cells = self.kitchen.where(self.grid[..., 0] == static)
        return [cell for cell in cells if test(int(self.grid[cell[1], cell[0], 1]))]

    def timer(self, cell):
        return int(self.grid[cell[1], cell[0], 2])

    def missing(self):
        """For each pot that does not cook, the ingredients that it lacks."""
        pots = {}
        for cell in self.items(POT, lambda item: not item & COOKED):
            if self.timer(cell) == 0:
                have = counts(int(self.grid[cell[1], cell[0], 1]), self.kitchen.ingredients)
                lacks = [want - has for want, has in zip(self.wanted, have)]
                # A pot that cannot become the wanted soup is filled up with anything.
                spoilt = min(lacks) < 0
                pots[cell] = [3 - sum(have)] * len(lacks) if spoilt else lacks
        return pots

    def wish(self, seat, rng):
        """The cells to reach to now, in order of preference: the first group of which one is in reach counts."""
        kitchen, held = self.kitchen, self.cooks[seat][2]
        part = kitchen.parts[self.cooks[seat][0]]
        reach = lambda cells: [cell for cell in cells if part in kitchen.reached_from(cell)]
        free = self.items(COUNTER, lambda item: item == 0)
        shared = reach([cell for cell in free if cell in kitchen.shared])
        away = shared or reach(free)
        ready = self.items(POT, lambda item: item & COOKED)
        cooking = [cell for cell in self.items(POT, lambda _: True) if self.timer(cell) > 0]
        lacks = self.missing()
        if held & COOKED:
            return reach(self.items(GOAL, lambda _: True)) or shared
        if held == PLATE:
            return reach(ready) or reach(cooking) or (shared if ready or cooking else away)
        if held:
            number = next(n for n, count in enumerate(counts(held, kitchen.ingredients)) if count)
            pots = reach([cell for cell, lack in lacks.items() if lack[number] > 0])
            return pots or away
        if self.starts_by_hand:
            full = [cell for cell, lack in lacks.items() if max(lack) <= 0]
            if reach(full):
                return reach(full)
        soups = reach(self.items(COUNTER, lambda item: item & COOKED))
        if soups and (reach(self.items(GOAL, lambda _: True)) or not all(s in kitchen.shared for s in soups)):
            return soups
        plates = sum(cook[2] == PLATE for cook in self.cooks)
        lying = self.items(COUNTER, lambda item: item == PLATE)
        if (ready or cooking) and plates < len(ready) + len(cooking):
            if reach(ready) or reach(cooking):
                found = reach(lying) or reach(self.items(PLATES, lambda _: True))
            else:
                found = [] if lying else reach(self.items(PLATES, lambda _: True))
            if found:
                return found
        return self.fetch(reach, lacks, rng)

    def fetch(self, reach, lacks, rng):
        """Ingredients that a pot lacks, from a counter or a pile."""
        kitchen = self.kitchen
        numbers = [n for lack in lacks.values() for n, count in enumerate(lack) if count > 0]
        rng.shuffle(numbers)
        has_pot = bool(reach(list(lacks)))
        for number in numbers:
            item = 4 << (2 * number)
            lying = self.items(COUNTER, lambda other: other == item)
            piles = reach(self.items(PILE + number, lambda _: True))
            if has_pot and reach(lying):
                return reach(lying)
            if piles and (has_pot or len(lying) < 3):
                return piles
        buttons = reach(self.items(BUTTON, lambda _: True))
        return buttons if buttons and rng.random() < 0.05 else []

    def act(self, seat, rng):
        """An action on the way to what a cook wishes."""
        cell, facing, _ = self.cooks[seat]
        wish = self.wish(seat, rng)
        if not wish:
            return int(rng.integers(4)) if rng.random() < 0.3 else STAY
        for action, front in self.kitchen.beside(cell):
            if front in wish:
                return INTERACT if STEPS[action][2] == facing else action
        others = {cook[0] for at, cook in enumerate(self.cooks) if at != seat}
        for blocked in (others, set()):
            step = self.way(cell, wish, blocked)
            if step is not None:
                return step
        return int(rng.integers(4))

    def way(self, start, wish, blocked):
        """The first step on a shortest way to a cell beside one of the wished."""
        queue, seen = deque([(start, None)]), {start}
        while queue:
            cell, first = queue.popleft()
            for action, front in self.kitchen.beside(cell):
                if front in wish and first is not None:
                    return first
                if self.kitchen.is_floor(front) and front not in seen and front not in blocked:
                    seen.add(front)
                    queue.append((front, action if first is None else first))
        return None


def cook(game, seat, rng, care):
    """An action of a cook; `care` is how often it does what it wishes."""
    return game.act(seat, rng) if rng.random() < care else int(rng.integers(6))
