"""Executable specification of the Overcooked dialects that no package has, written from their rules by hand.

Slow and plain on purpose. Nothing here is shared with the code that is tested. Source: the rules of overcooked_ai at
the tag `neurips2019`, of ZSC-Eval f940869 and of crossEnvCooperation 71ed348.

A thing is a letter: "o" onion, "t" tomato, "d" dish; a soup is "s" and its ingredients in the order of the alphabet.
A pot is a list [ingredients, tick]; tick is None until it cooks.
"""

NORTH, SOUTH, EAST, WEST, STAY, INTERACT = range(6)
STEP = {NORTH: (0, -1), SOUTH: (0, 1), EAST: (1, 0), WEST: (-1, 0)}


class Kitchen:
    """The rules that all of them share; a dialect says what differs."""

    # Steps that any soup cooks, where it does not depend on the recipe.
    time = 20
    # How many ingredients fill a pot.
    full = 3
    # Whether an interact with empty hands starts the cooking, and whether a full pot begins immediately.
    starts_by_interact = False
    placement, dish, soup = 3, 3, 5

    def __init__(self, rows, starts, horizon):
        self.rows, self.horizon = rows, horizon
        self.width, self.height = len(rows[0]), len(rows)
        self.where = list(starts)
        self.facing = [NORTH] * len(starts)
        self.hands = [""] * len(starts)
        self.lying = {}
        self.pots = {place: ["", None] for place in self.places("P")}
        self.steps = 0

    def tile(self, place):
        x, y = place
        if 0 <= x < self.width and 0 <= y < self.height:
            return self.rows[y][x]
        return self.beyond(place)

    def beyond(self, place):
        raise IndexError(place)

    def places(self, sign):
        return [(x, y) for y, row in enumerate(self.rows) for x, at in enumerate(row) if at == sign]

    # What a recipe is worth and how long it cooks.

    def worth(self, ingredients):
        return 20

    def cook_time(self, ingredients):
        return self.time

    def is_ready(self, pot):
        return pot[1] is not None and pot[1] >= self.cook_time(pot[0])

    # A step.

    def step(self, actions):
        """Returns the points of the step, and the shaped reward of each cook."""
        self.before = {place: list(pot) for place, pot in self.pots.items()}
        points, self.shaped = 0, [0] * len(self.where)
        for cook, action in enumerate(actions):
            if action == INTERACT:
                points += self.interact(cook)
        self.move(actions)
        self.steps += 1
        for pot in self.pots.values():
            if pot[1] is not None and pot[1] < self.cook_time(pot[0]):
                pot[1] += 1
        return points, self.shaped

    def ahead(self, cook):
        (x, y), (dx, dy) = self.where[cook], STEP[self.facing[cook]]
        return x + dx, y + dy

    def interact(self, cook):
        place, held = self.ahead(cook), self.hands[cook]
        tile = self.tile(place)
        if tile == "X" and held and place not in self.lying:
            self.lying[place], self.hands[cook] = held, ""
        elif tile == "X" and not held and place in self.lying:
            self.hands[cook] = self.lying.pop(place)
        elif tile in "OTD" and not held:
            if tile == "D" and self.is_dish_needed(cook):
                self.shaped[cook] += self.dish
            self.hands[cook] = tile.lower()
        elif tile == "P":
            self.use_pot(cook, self.pots[place])
        elif tile == "S" and held.startswith("s"):
            self.hands[cook] = ""
            return self.worth(held[1:])
        return 0

    def use_pot(self, cook, pot):
        held = self.hands[cook]
        if held == "d" and self.is_ready(pot):
            self.hands[cook] = "s" + "".join(sorted(pot[0]))
            pot[:] = ["", None]
            self.shaped[cook] += self.soup
        elif held in ("o", "t") and pot[1] is None and len(pot[0]) < self.full and self.mixes(pot[0], held):
            was = pot[0]
            pot[0] += held
            self.hands[cook] = ""
            if self.is_placement_paid(was, pot[0]):
                self.shaped[cook] += self.placement
            if len(pot[0]) == self.full and not self.starts_by_interact:
                pot[1] = 0
        elif not held and self.starts_by_interact and pot[0] and pot[1] is None:
            pot[1] = 0

    def mixes(self, ingredients, added):
        return True

    def is_placement_paid(self, before, after):
        return True

    def is_dish_needed(self, cook):
        """A dish is needed if none lies on a counter, and fewer are in hands than pots that had something before the step."""
        return self.dishes_lying() == 0 and self.hands.count("d") < self.pots_before()

    def dishes_lying(self):
        return list(self.lying.values()).count("d")

    def pots_before(self):
        return sum(bool(ingredients) for ingredients, _ in self.before.values())

    def move(self, actions):
        targets = list(self.where)
        for cook, action in enumerate(actions):
            if action in STEP:
                self.facing[cook] = action
                target = self.ahead(cook)
                if self.is_floor(target):
                    targets[cook] = target
        pairs = [(a, b) for a in range(len(targets)) for b in range(a)]
        clash = any(targets[a] == targets[b] for a, b in pairs)
        swap = any(targets[a] == self.where[b] and targets[b] == self.where[a] for a, b in pairs)
        if not clash and not swap:
            self.where = targets

    def is_floor(self, place):
        return self.tile(place) == " "

    # Maps.

    def blank(self, channels, by_rows=False, side=None):
        across, down = (side or self.width), (side or self.height)
        first, second = (down, across) if by_rows else (across, down)
        return [[[0] * channels for _ in range(second)] for _ in range(first)]

    def cooks_first(self, put, seat):
        """Channels 0 to 9: own place, other's place, own direction, other's direction."""
        for number, cook in enumerate([seat, 1 - seat]):
            if cook in range(len(self.where)):
                put(self.where[cook], number, 1)
                put(self.where[cook], 2 + 4 * number + self.facing[cook], 1)


class Neurips2019(Kitchen):
    """overcooked_ai at the tag `neurips2019`: one kind of ingredient in a pot, 20 points, no shaping by itself."""

    placement, dish, soup = 0, 0, 0

    def __init__(self, rows, starts, horizon, cook_time=20, delivery_reward=20, num_items_for_soup=3, rew_shaping_params=None):
        super().__init__(rows, starts, horizon)
        self.time, self.points, self.full = cook_time, delivery_reward, num_items_for_soup
        if rew_shaping_params is not None:
            self.placement = rew_shaping_params["PLACEMENT_IN_POT_REW"]
            self.dish = rew_shaping_params["DISH_PICKUP_REWARD"]
            self.soup = rew_shaping_params["SOUP_PICKUP_REWARD"]

    def worth(self, ingredients):
        return self.points

    def mixes(self, ingredients, added):
        return not ingredients or ingredients[0] == added

    def channels20(self, seat):
        """`[x][y][channel]`. What is in hands replaces what else there is of its kind, in the whole map."""
        out = self.blank(20)

        def put(place, channel, value):
            out[place[0]][place[1]][channel] += value

        self.cooks_first(put, seat)
        for channel, sign in enumerate("PXODS", start=10):
            for place in self.places(sign):
                put(place, channel, 1)
        held = {hand[0] for hand in self.hands if hand}
        if "s" not in held:
            for place, (ingredients, tick) in self.pots.items():
                put(place, 15, len(ingredients))
                put(place, 16, tick or 0)
        things = [(place, thing) for place, thing in self.lying.items() if thing[0] not in held]
        things += [(self.where[cook], hand) for cook, hand in enumerate(self.hands) if hand]
        for place, thing in things:
            put(place, {"s": 17, "d": 18, "o": 19}[thing[0]], 1)
        return out

    def distances(self, cook):
        """How many actions the cook needs until it faces a place, turns included."""
        start = (self.where[cook], self.facing[cook])
        reached, wave, count = {}, [start], 0
        seen = {start}
        while wave:
            following = []
            for (x, y), facing in wave:
                dx, dy = STEP[facing]
                reached.setdefault((x + dx, y + dy), count)
                for way, (dx, dy) in STEP.items():
                    target = (x + dx, y + dy)
                    node = (target if self.is_floor(target) else (x, y), way)
                    if node not in seen:
                        seen.add(node)
                        following.append(node)
            wave, count = following, count + 1
        return reached

    def features62(self, seat):
        """29 numbers of the seat, 29 of the other, the way to the other, and where cook 0 stands, for both seats."""
        own, other = self.features29(seat), self.features29(1 - seat)
        (x, y), (ox, oy) = self.where[seat], self.where[1 - seat]
        return own + other + [ox - x, oy - y] + list(self.where[0])

    def features29(self, cook):
        x, y = self.where[cook]
        held = self.hands[cook][:1]
        far = self.distances(cook)

        def closest(places):
            # Counters are no goals of the planner, so what lies on them is never found.
            places = [place for place in places if place in far and self.tile(place) != "X"]
            if not places:
                return [0, 0]
            px, py = min(places, key=lambda place: far[place])
            return [px - x, py - y]

        pots = self.pots.items()
        out = [int(self.facing[cook] == way) for way in STEP]
        out += [int(held == kind) for kind in ("o", "s", "d")]
        out += [0, 0] if held == "o" else closest(self.places("O"))
        out += closest([place for place, pot in pots if not pot[0]])
        # Pots with one and with two onions are looked up under names that do not exist.
        out += [0, 0, 0, 0]
        out += closest([place for place, pot in pots if pot[1] is not None and not self.is_ready(pot)])
        out += closest([place for place, pot in pots if self.is_ready(pot)])
        out += [0, 0] if held == "d" else closest(self.places("D"))
        # Soups lie on counters only.
        out += [0, 0]
        out += closest(self.places("S"))
        out += [int(not self.is_floor((x + dx, y + dy))) for dx, dy in STEP.values()]
        return out


class ZscEval(Kitchen):
    """ZSC-Eval's kitchens with orders: the rules of overcooked-ai 1.1.0 with three differences, and 25 channels."""

    starts_by_interact = True

    def __init__(self, rows, starts, horizon, layout):
        super().__init__(rows, starts, horizon)
        self.layout = layout
        rewards = layout.get("rew_shaping_params")
        if rewards is not None:
            self.placement = rewards["PLACEMENT_IN_POT_REW"]
            self.dish, self.soup = rewards["DISH_PICKUP_REWARD"], rewards["SOUP_PICKUP_REWARD"]
        letters = lambda order: "".join(sorted(name[0] for name in order["ingredients"]))
        listed = [letters(order) for order in layout.get("start_all_orders", [])]
        self.every = ["o" * n + "t" * m for n in range(4) for m in range(4 - n) if n + m]
        self.ordered = listed or self.every
        self.bonus = [letters(order) for order in layout.get("start_bonus_orders", [])]
        self.listed = listed

    def value(self, recipe, for_all, by_order, onion, tomato):
        layout = self.layout
        if layout.get(for_all):
            return layout[for_all]
        if by_order in layout and recipe in self.listed:
            return layout[by_order][self.listed.index(recipe)]
        if layout.get(onion) and layout.get(tomato):
            return layout[onion] * recipe.count("o") + layout[tomato] * recipe.count("t")
        return 20

    def worth(self, ingredients):
        """A soup that nobody ordered costs ten points."""
        recipe = "".join(sorted(ingredients))
        if recipe not in self.ordered:
            return -10
        value = self.value(recipe, "delivery_reward", "recipe_values", "onion_value", "tomato_value")
        return value * self.layout.get("order_bonus", 2) if recipe in self.bonus else value

    def cook_time(self, ingredients):
        return self.value("".join(sorted(ingredients)), "cook_time", "recipe_times", "onion_time", "tomato_time")

    def best(self, ingredients):
        """The worth of the best soup that these ingredients can still become."""
        fits = lambda recipe: all(recipe.count(letter) >= ingredients.count(letter) for letter in "ot")
        values = [self.worth(recipe) for recipe in self.every if fits(recipe)]
        best = max([value for value in values if value > 0], default=None)
        if best is not None:
            return best
        return self.worth(ingredients) if ingredients else -10

    def is_placement_paid(self, before, after):
        """An ingredient is paid if the best soup stays as good, or if a soup with points can still be made."""
        return self.best(before) == self.best(after) or self.best(after) > 0

    def is_dish_needed(self, cook):
        return len(self.where) == 2 and super().is_dish_needed(cook)

    def pots_before(self):
        """A full pot that does not cook asks for no dish."""
        return sum(tick is not None or 0 < len(pot) < self.full for pot, tick in self.before.values())

    def channels25(self, seat):
        """`[x][y][channel]`, times 255."""
        out = self.blank(25)

        def put(place, channel, value):
            out[place[0]][place[1]][channel] += 255 * value

        self.cooks_first(put, seat)
        for channel, sign in enumerate("PXOTDS", start=10):
            for place in self.places(sign):
                put(place, channel, 1)
        for place, (ingredients, tick) in self.pots.items():
            if tick is None:
                put(place, 16, ingredients.count("o"))
                put(place, 17, ingredients.count("t"))
            else:
                put(place, 18, ingredients.count("o"))
                put(place, 19, ingredients.count("t"))
                put(place, 20, self.cook_time(ingredients) - tick)
        things = list(self.lying.items()) + [(self.where[cook], hand) for cook, hand in enumerate(self.hands) if hand]
        for place, thing in things:
            if thing[0] == "s":
                put(place, 18, thing.count("o"))
                put(place, 19, thing.count("t"))
            else:
                put(place, {"d": 21, "o": 22, "t": 23}[thing], 1)
        if self.horizon - self.steps < 40:
            for x in range(self.width):
                for y in range(self.height):
                    put((x, y), 24, 1)
        return out

    def mask(self, seat):
        """The actions under which its policies are sampled."""
        allowed = [1] * 6
        place, held = self.ahead(seat), self.hands[seat]
        tile = self.tile(place)
        if tile != " ":
            allowed[self.facing[seat]] = 0
        pot = self.pots.get(place)
        if (
            tile == " "
            or tile == "X" and bool(held) == (place in self.lying)
            or tile in "OTD" and held
            or tile == "S" and not held.startswith("s")
            or tile == "P" and held.startswith("s")
            or tile == "P" and not held and (not pot[0] or self.is_ready(pot))
        ):
            allowed[INTERACT] = 0
        return allowed


class Cec(Kitchen):
    """The kitchens of CEC: JaxMARL's rules in the upper left corner of 9 by 9 cells of wall."""

    placement, dish, soup = 10, 3, 15
    side = 9

    def __init__(self, rows, starts, directions, horizon):
        padded = [row + "X" * (self.side - len(row)) for row in rows]
        padded += ["X" * self.side] * (self.side - len(rows))
        super().__init__(padded, starts, horizon)
        self.facing = list(directions)

    def beyond(self, place):
        """Beyond the border in the north and west, indexes wrap: there is a counter unless the other end is floor."""
        x, y = place
        if x >= self.side or y >= self.side:
            return "#"
        return "#" if self.rows[y][x] == " " else "X"

    def is_dish_needed(self, cook):
        """Never: the colour of a wall is taken for a plate, and there is always a wall."""
        return False

    def channels26(self, seat):
        """`[y][x][channel]`."""
        out = self.blank(26, by_rows=True)

        def put(place, channel, value):
            if 0 <= place[0] < self.side and 0 <= place[1] < self.side:
                out[place[1]][place[0]][channel] += value

        self.cooks_first(put, seat)
        for channel, sign in [(10, "P"), (11, "X"), (12, "O"), (14, "D"), (15, "S")]:
            for place in self.places(sign):
                if sign != "X" or place not in self.lying:
                    put(place, channel, 1)
        for place, (ingredients, tick) in self.pots.items():
            # One byte: 23 empty, 22 and 21 filling, 20 full and then down to 0, which is ready.
            byte = 23 - len(ingredients) if tick is None else 20 - tick
            if byte >= 20:
                put(place, 16, min(23 - byte, 3))
            else:
                put(place, 18, 3)
                put(place, 20, byte)
            if byte == 0:
                put(place, 21, 1)
        things = list(self.lying.items()) + [(self.where[cook], hand) for cook, hand in enumerate(self.hands) if hand]
        for place, thing in things:
            if thing[0] == "s":
                put(place, 18, 3)
                put(place, 21, 1)
            else:
                put(place, {"d": 22, "o": 23}[thing], 1)
        if self.horizon - self.steps < 40:
            for x in range(self.side):
                for y in range(self.side):
                    put((x, y), 25, 1)
        return out
