"""CoGrid's own Overcooked, unmodified from its package, with a picture for pages."""

from cogrid.envs import registry

COLORS = {"W": "grey", "C": "#b08d57", "U": "#444444", "O": "orange", "S": "green", "=": "white"}


def make(name="Overcooked-CrampedRoom-V0"):
    import cogrid.envs.overcooked  # noqa: F401

    return registry.make(name)


def picture(env):
    grid = env.grid
    shapes = []
    for row in range(grid.height):
        for col in range(grid.width):
            cell = grid.get(row, col)
            if cell is not None:
                color = COLORS.get(cell.char, "brown")
                shapes.append({"rect": [col, row, 1, 1], "color": color})
    for index, agent in enumerate(env.env_agents.values()):
        row, col = agent.pos
        shapes.append({"circle": [col + 0.5, row + 0.5, 0.4], "color": ["blue", "red"][index % 2], "id": index + 1})
    return {"width": grid.width, "height": grid.height, "background": "#eeeeee", "shapes": shapes}
