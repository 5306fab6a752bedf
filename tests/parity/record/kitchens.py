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


def with_orders(rng, old):
    """A layout file of overcooked_ai."""
    layout = {"grid": "\n".join(grid(rng, tomatoes=rng.random() < 0.6, cooks=2))}
    has_tomatoes = "T" in layout["grid"]
    fitting = [r for r in RECIPES if (has_tomatoes or "t" not in r) and (not old or len(r) == 3)]
    chosen = rng.sample(fitting, rng.randint(1, min(4, len(fitting))))
    layout["start_all_orders"] = [order(recipe) for recipe in chosen]
    layout["start_bonus_orders"] = [order(chosen[0])] if rng.random() < 0.4 else []
    paid = rng.randint(0, 3)
    if paid == 1:
        layout["recipe_values"] = [rng.randint(1, 30) for _ in chosen]
        layout["recipe_times"] = [rng.randint(1, 30) for _ in chosen]
    elif paid == 2:
        layout.update(onion_value=rng.randint(1, 25), tomato_value=rng.randint(1, 25))
        layout.update(onion_time=rng.randint(1, 12), tomato_time=rng.randint(1, 12))
    elif paid == 3:
        layout.update(delivery_reward=rng.randint(1, 40), cook_time=rng.randint(1, 40))
    if rng.random() < 0.3:
        layout["order_bonus"] = rng.choice([1, 3, 1.5])
    return repr(layout)


def of_2019(rng):
    """A layout file of the tag neurips2019."""
    layout = {"grid": "\n".join(grid(rng, tomatoes=rng.random() < 0.2)), "start_order_list": None}
    layout.update(cook_time=rng.choice([20, 20, rng.randint(1, 30)]), delivery_reward=rng.choice([20, 20, 7]))
    if rng.random() < 0.5:
        layout["rew_shaping_params"] = {"PLACEMENT_IN_POT_REW": 3, "DISH_PICKUP_REWARD": 3, "SOUP_PICKUP_REWARD": 5}
    return repr(layout)


def of_jaxmarl(rng, most=8):
    """Rows in the letters of JaxMARL."""
    letters = str.maketrans("X12DS", "WAABX")
    return "\n".join(row.translate(letters) for row in grid(rng, tomatoes=False, most=most))


def random_kitchens(make, seed, count):
    return {f"random_{number}": make(random.Random(f"{seed}/{number}")) for number in range(count)}
