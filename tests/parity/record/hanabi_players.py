"""Players of Hanabi for recordings: at random, with care, and by hints of what can be played."""

import numpy as np


class Table:
    """One game, as arrays: cards by their number, -1 where a hand has none."""

    def __init__(self, env, hands, knowledge, told, fireworks, discards, info, turn):
        self.colors, self.ranks, self.size = env.num_colors, env.num_ranks, env.hand_size
        self.seats = env.num_agents
        self.copies = np.tile(env.num_cards_of_rank, self.colors)
        self.hands, self.knowledge, self.told = hands, knowledge, told
        self.fireworks, self.discards, self.info, self.turn = fireworks, discards, info, turn
        cards = np.arange(self.colors * self.ranks)
        heights = fireworks[cards // self.ranks]
        self.playable = cards % self.ranks == heights
        self.dead = cards % self.ranks < heights

    def possible(self, seat):
        """For each card of a hand, how many of each card it can be, by what its owner sees."""
        gone = np.bincount(self.discards, minlength=len(self.copies)) + ~self.playable * self.dead
        others = np.delete(self.hands, seat, axis=0).ravel()
        seen = np.bincount(others[others >= 0], minlength=len(self.copies))
        return self.knowledge[seat] * np.maximum(self.copies - gone - seen, 0)

    def shares(self, seat, wanted):
        """For each card of a hand, how likely it is one of the wanted; -1 where there is no card."""
        possible = self.possible(seat)
        total = possible.sum(1)
        share = (possible * wanted).sum(1) / np.maximum(total, 1)
        return np.where((self.hands[seat] >= 0) & (total > 0), share, -1.0)

    def hint(self):
        """A hint about a card that can be played and is not known to be."""
        for distance in range(1, self.seats):
            seat = (self.turn + distance) % self.seats
            known = self.shares(seat, self.playable)
            for at, card in enumerate(self.hands[seat]):
                if card < 0 or not self.playable[card] or known[at] == 1:
                    continue
                color, rank = divmod(int(card), self.ranks)
                first = 2 * self.size + (distance - 1) * self.colors + color
                second = 2 * self.size + (self.seats - 1) * self.colors + (distance - 1) * self.ranks + rank
                return first if self.told[seat][at][1] else second
        return None


def at_random(table, legal, rng):
    """Any legal action."""
    return int(rng.choice(legal))


def with_care(table, legal, rng):
    """Plays what is surely right, and else gives hints and discards at random."""
    shares = table.shares(table.turn, table.playable)
    if shares.max() == 1:
        return table.size + int(shares.argmax())
    quiet = [action for action in legal if not table.size <= action < 2 * table.size]
    return int(rng.choice(quiet or legal))


def by_hints(table, legal, rng):
    """Plays what is likely right, hints at what can be played, and discards what is of least use."""
    shares = table.shares(table.turn, table.playable)
    if shares.max() > 0.7:
        return table.size + int(shares.argmax())
    hint = table.hint() if table.info > 0 else None
    if hint is not None:
        return hint
    discards = [action for action in legal if action < table.size]
    if not discards:
        return int(rng.choice(legal))
    useless = table.shares(table.turn, table.dead)
    untold = ~np.asarray(table.told[table.turn]).any(1)
    return max(discards, key=lambda action: (useless[action], untold[action], -action))


def sometimes_wrong(table, legal, rng):
    """As by hints, but now and then at random."""
    return at_random(table, legal, rng) if rng.random() < 0.05 else by_hints(table, legal, rng)


PLAYERS = [by_hints, with_care, sometimes_wrong, at_random]
