"""Random kitchens in the formats of the originals."""

import random

RECIPES = [("o",), ("o", "o"), ("o", "o", "o"), ("t",), ("t", "t"), ("t", "t", "t"), ("o", "t"), ("o", "o", "t"), ("o", "t", "t")]
WORDS = {"o": "onion", "t": "tomato"}


def components(floor):
    floor, found = set(floor), []
    while floor:
        stack, part = [floor.pop()], set()
        while stack:
            x, y = stack.pop()
            part.add((x, y))
            for place in ((x, y - 1), (x, y + 1), (x + 1, y), (x - 1, y)):
                if place in floor:
                    floor.remove(place)
                    stack.append(place)
        found.append(part)
    return sorted(found, key=len, reverse=True)


def grid(rng, tomatoes, cooks=2, least=4, most=8):
    """Rows in the letters of overcooked_ai; everything can be reached from the largest piece of floor."""
    while True:
        cols, rows = rng.randint(max(least, 4), most), rng.randint(least, max(least, most - 1))
        cells = [["X"] * cols for _ in range(rows)]
        for y in range(1, rows - 1):
            for x in range(1, cols - 1):
                if rng.random() > 0.15:
                    cells[y][x] = " "
        floor = components((x, y) for y in range(rows) for x in range(cols) if cells[y][x] == " ")
        if not floor or len(floor[0]) < cooks + 2:
            continue
        part = sorted(floor[0])
        near = sorted({(x + dx, y + dy) for x, y in part for dx, dy in ((0, 1), (0, -1), (1, 0), (-1, 0))} - set(part))
        things = ["P"] * rng.randint(1, 2) + ["O"] * rng.randint(1, 2) + ["D", "S"] + (["T"] if tomatoes else [])
        if len(near) < len(things) + 2:
            continue
        for (x, y), thing in zip(rng.sample(near, len(things)), things):
            cells[y][x] = thing
        for number, (x, y) in enumerate(rng.sample(part, cooks)):
            cells[y][x] = str(number + 1)
        return ["".join(row) for row in cells]


def order(recipe):
    return {"ingredients": [WORDS[letter] for letter in recipe]}


def cooks(rng):
    """Mostly two, as most kitchens have; and one to four."""
    return rng.choice([1, 2, 2, 2, 2, 3, 3, 4])


def with_orders(rng, dialect):
    """A layout file of overcooked_ai, for one of its dialects."""
    seats = 2 if dialect == "zsc-eval" else cooks(rng)
    layout = {"grid": "\n".join(grid(rng, tomatoes=rng.random() < 0.6, cooks=seats))}
    has_tomatoes = "T" in layout["grid"]
    old = dialect == "overcooked-ai-old"
    full = rng.choice([3, 3, 3, 3, 2, 1]) if dialect == "overcooked-ai-1.1.0" else 3
    if full < 3:
        layout["max_num_ingredients"] = full
    fitting = [r for r in RECIPES if (has_tomatoes or "t" not in r) and (not old or len(r) == 3) and len(r) <= full]
    chosen = rng.sample(fitting, rng.randint(1, min(4, len(fitting))))
    layout["start_all_orders"] = [order(recipe) for recipe in chosen]
    bonus = rng.sample(chosen, rng.randint(1, min(2, len(chosen)))) if rng.random() < 0.4 else []
    layout["start_bonus_orders"] = [order(recipe) for recipe in bonus]
    layout.update(paid(rng, len(chosen)))
    if rng.random() < 0.3:
        layout["order_bonus"] = rng.choice([1, 3, 1.5])
    if rng.random() < 0.4:
        layout["rew_shaping_params"] = shaping(rng)
    if dialect != "zsc-eval" and rng.random() < 0.35:
        layout["start_state"] = start_state(rng, layout, chosen, bonus, full)
    return repr(layout)


def paid(rng, orders):
    """Points and times: of each order, of each ingredient, or the same for all; one order is worth something, or the
    originals stop with an error."""
    way, others = rng.randint(0, 4), range(orders - 1)
    if way == 1:
        times = [rng.randint(0, 30) for _ in range(orders)]
        return {"recipe_values": [rng.randint(1, 30), *(rng.randint(0, 30) for _ in others)], "recipe_times": times}
    if way == 2:
        values = {"onion_value": rng.randint(0, 25), "tomato_value": rng.randint(1, 25)}
        return {**values, "onion_time": rng.randint(0, 12), "tomato_time": rng.randint(1, 12)}
    if way == 3:
        return {"delivery_reward": rng.randint(0, 40), "cook_time": rng.randint(0, 40)}
    if way == 4:
        values = [rng.choice([0.5, 7]), *(rng.choice([0.5, 7, -3]) for _ in others)]
        return {"recipe_values": values, "onion_time": 4, "tomato_time": 3}
    return {}


def shaping(rng):
    names = ["PLACEMENT_IN_POT_REW", "DISH_PICKUP_REWARD", "SOUP_PICKUP_REWARD"]
    return {name: rng.choice([0, 1, 2.5, 4, -1]) for name in names}


def start_state(rng, layout, orders, bonus, full):
    """A state to begin with, as a layout file has it: things in hands, on counters and in pots."""
    rows = layout["grid"].split("\n")
    cells = [((x, y), sign) for y, row in enumerate(rows) for x, sign in enumerate(row)]
    floor = sorted(next(part for part in [components(p for p, s in cells if s == " " or s.isdigit())[0]]))
    seats = sum(sign.isdigit() for _, sign in cells)
    recipes = [r for r in RECIPES if len(r) <= full]
    plain = ["onion", "dish"] + (["tomato"] if "T" in layout["grid"] else [])

    def soup(place, tick):
        names = [WORDS[letter] for letter in rng.choice(recipes)]
        things = [{"name": name, "position": place} for name in names]
        return {"name": "soup", "position": place, "_ingredients": things, "cooking_tick": tick}

    players = []
    for place in rng.sample(floor, seats):
        held = {"name": rng.choice(plain), "position": place} if rng.random() < 0.4 else None
        players.append({"position": place, "orientation": rng.choice([(0, -1), (0, 1), (1, 0), (-1, 0)]), "held_object": held})
    objects = []
    for place, sign in cells:
        if sign == "P" and rng.random() < 0.6:
            objects.append(soup(place, rng.choice([-1, 0])))
        elif sign == "X" and rng.random() < 0.1:
            objects.append({"name": rng.choice(plain), "position": place})
    rng.shuffle(objects)
    fields = {"players": players, "objects": objects, "timestep": rng.choice([0, 0, 5])}
    return {**fields, "all_orders": [order(r) for r in orders], "bonus_orders": [order(r) for r in bonus]}


def of_2019(rng):
    """A layout file of the tag neurips2019."""
    layout = {"grid": "\n".join(grid(rng, tomatoes=rng.random() < 0.2, cooks=cooks(rng))), "start_order_list": None}
    layout.update(cook_time=rng.choice([20, 20, rng.randint(1, 30)]), delivery_reward=rng.choice([20, 20, 7]))
    if rng.random() < 0.3:
        layout["num_items_for_soup"] = rng.randint(1, 3)
    if rng.random() < 0.5:
        layout["rew_shaping_params"] = {"PLACEMENT_IN_POT_REW": 3, "DISH_PICKUP_REWARD": 3, "SOUP_PICKUP_REWARD": 5}
    return repr(layout)


def of_jaxmarl(rng, most=8):
    """Rows in the letters of JaxMARL."""
    letters = str.maketrans("X12DS", "WAABX")
    return "\n".join(row.translate(letters) for row in grid(rng, tomatoes=False, most=most))


def random_kitchens(make, seed, count):
    return {f"random_{number}": make(random.Random(f"{seed}/{number}")) for number in range(count)}
