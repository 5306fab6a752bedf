"""Executable specification of the kitchens that CEC makes anew, written from their rules by hand.

A kitchen follows from draws, each a whole number below the number of choices that are left, in this order: the family;
four walls that can be reached, for plates, onions, pot and goal; a second wall of each, anywhere; holes in the walls; the
two agents; quarter turns to the left; whether it is mirrored; whether sideways. Nothing here is shared with the code that
is tested. Source: crossEnvCooperation 71ed348, `make_*_9x9` with `ik`, `make_9x9_layout`.
"""

SIDE = 9

# The walls that get the first things, in the order of their choice; numbers count the cells in reading order.
FAMILIES = [
    dict(
        rows=["XXXXXXXXX", "X   X   X", "X   X   X", "XXXXXXXXX"],
        first=[1, 2, 3, 4, 5, 6, 7, 9, 17, 18, 26, 28, 29, 30, 31, 32, 33, 34, 13, 22],
        holes=2,
        starts=[[10, 11, 12, 19, 20, 21], [14, 15, 16, 23, 24, 25]],
    ),
    dict(rows=["XXXXX", "X   X", "X X X", "X   X", "XXXXX"], first=[1, 2, 3, 5, 9, 10, 14, 15, 19, 21, 22, 23, 12], holes=0),
    dict(
        rows=["XXXXXXXX", "X      X", "X XXXX X", "X      X", "XXXXXXXX"],
        first=[1, 2, 3, 4, 5, 6, 8, 15, 16, 18, 19, 20, 21, 23, 24, 31, 33, 34, 35, 36, 37, 38],
        holes=0,
    ),
    dict(
        rows=["XXXXX", "X X X", "X X X", "X X X", "XXXXX"],
        first=[1, 5, 10, 15, 21, 17, 12, 7, 3, 9, 14, 19, 23],
        holes=0,
        starts=[[6, 11, 16], [8, 13, 18]],
    ),
    dict(rows=["XXXXX", "X   X", "X   X", "XXXXX"], first=[1, 2, 3, 5, 9, 10, 14, 16, 17, 18], holes=0),
]


def make(draw):
    """Rows of 9 by 9 cells in the letters of JaxMARL; `draw(n)` gives a whole number below n."""
    family = FAMILIES[draw(len(FAMILIES))]
    width = len(family["rows"][0])
    cells = list("".join(family["rows"]).replace("X", "W"))
    floor = [number for number, cell in enumerate(cells) if cell == " "]
    take = lambda choices: choices.pop(draw(len(choices)))
    reached = list(family["first"])
    stations = [take(reached) for _ in "BOPX"]
    others = [number for number, cell in enumerate(cells) if cell == "W" and number not in stations]
    stations += [take(others) for _ in "BOPX"]
    holes = [take(others) for _ in range(family["holes"])]
    starts = family.get("starts", [floor, floor])
    one = take(list(starts[0]))
    two = take([number for number in starts[1] if number != one])
    for number, letter in zip(stations, "BOPXBOPX"):
        cells[number] = letter
    for number in holes:
        cells[number] = " "
    for number in (one, two):
        cells[number] = "A"
    rows = [cells[at : at + width] for at in range(0, len(cells), width)]
    for _ in range(draw(4)):
        rows = [list(column) for column in zip(*rows)][::-1]
    mirrored, sideways = draw(2), draw(2)
    if mirrored:
        rows = [row[::-1] for row in rows] if sideways else rows[::-1]
    padded = ["".join(row).ljust(SIDE, "W") for row in rows]
    return padded + ["W" * SIDE] * (SIDE - len(padded))
