//! Chooses the next step, by what the hands hold and what the kitchen needs.

mod errand;

use super::path::{Map, NONE, distances, neighbours};
use super::view::{INGREDIENTS, Item, Pot, Tile, View};

pub(super) use errand::{ERRANDS, Errand};

/// A goal of the cook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// To stand before a cell and use it.
    Use(u8),
    /// To stand before a cell.
    Face(u8),
    /// To wait out of the way.
    Wait,
}

/// Steps that a way through the partner counts longer.
const DETOUR: u16 = 30;

/// The thoughts of one turn.
pub(super) struct Plan<'a> {
    view: &'a View,
    free: &'a Map,
    around: &'a Map,
    seat: u8,
    /// The partner's ways.
    theirs: Map,
    /// The item in the partner's hands, as far as the cook counts on it.
    partner: Option<Item>,
    /// True if the cook does not count on its partner.
    alone: bool,
}

impl<'a> Plan<'a> {
    /// `free` and `around` are the cook's ways through the partner and around them; a cook who is `alone`
    /// does not count on the things that the partner holds.
    pub(super) fn new(
        view: &'a View,
        free: &'a Map,
        around: &'a Map,
        seat: u8,
        alone: bool,
    ) -> Self {
        let theirs = distances(view, view.other.cell, None);
        let partner = view.other.held.filter(|_| !alone);
        Self {
            view,
            free,
            around,
            seat,
            theirs,
            partner,
            alone,
        }
    }

    pub(super) fn goal(&self) -> Goal {
        let goal = match self.view.own.held {
            None => self.clear_floor().or_else(|| self.fetch()),
            Some(Item::Onion) => self.with_ingredient(0),
            Some(Item::Tomato) => self.with_ingredient(1),
            Some(Item::Plate) => self.with_plate(),
            Some(Item::Soup) => self
                .nearest(|cell| self.view.tile(cell) == Tile::Delivery)
                .or_else(|| self.handover())
                .map(Goal::Use),
            Some(Item::Other) => self.put_down(),
        };
        goal.unwrap_or(Goal::Wait)
    }

    /// Takes a thing that a person dropped on the floor, where it may block the only way to a pot.
    fn clear_floor(&self) -> Option<Goal> {
        self.nearest(|cell| {
            self.view.tile(cell) == Tile::Floor && self.view.item_on(cell).is_some()
        })
        .map(Goal::Use)
    }

    fn fetch(&self) -> Option<Goal> {
        let delivers = self
            .nearest(|cell| self.view.tile(cell) == Tile::Delivery)
            .is_some();
        let soup = self.nearest(|cell| delivers && self.view.item_on(cell) == Some(Item::Soup));
        if let Some(soup) = soup {
            return Some(Goal::Use(soup));
        }
        let plate = self.source(Tile::Plates, Item::Plate);
        if !self.cooks() {
            return self.supply(plate).map(Goal::Use);
        }
        let plate = plate.filter(|_| self.plates_wanted() > 0);
        // When nothing is wanted, an ingredient in hand is a head start for the next soup.
        let next = || plate.or_else(|| self.ingredient(None).or_else(|| self.opening()));
        self.start().or_else(next).map(Goal::Use)
    }

    /// The nearest pot that waits to be started.
    fn start(&self) -> Option<u8> {
        let pots = self.view.pots().filter(|pot| pot.starts);
        let reached = pots.filter_map(|pot| Some((self.cost(pot.cell)?, pot.cell)));
        reached.min().map(|(_, cell)| cell)
    }

    /// The nearest source of an ingredient that a pot wants, beyond the things that the partner holds and those that lie
    /// between the two: for the pot that misses least.
    fn ingredient(&self, between: Option<[i16; 2]>) -> Option<u8> {
        let mut brought = [0, 1].map(|kind: usize| {
            let (item, _) = INGREDIENTS[kind];
            between.map_or(0, |between| between[kind]) + i16::from(self.partner == Some(item))
        });
        // Pots beyond reach are the partner's, who must be supplied.
        let cost = |pot: &Pot| self.cost(pot.cell).or(between.and(Some(0)));
        let open = self.view.pots().filter(|pot| pot.missing_ingredients() > 0);
        let mut open: Vec<_> = open
            .filter_map(|pot| Some((pot.missing_ingredients(), cost(pot)?, pot.cell, pot.wants)))
            .collect();
        open.sort_unstable();
        for (.., wants) in open {
            for (kind, (item, tile)) in INGREDIENTS.into_iter().enumerate() {
                let wanted = i16::from(wants[kind]);
                let rest = wanted - brought[kind];
                brought[kind] = (brought[kind] - wanted).max(0);
                if rest > 0
                    && let Some(source) = self.source(tile, item)
                {
                    return Some(source);
                }
            }
        }
        None
    }

    /// The nearest source of an ingredient of the soup that an empty pot is filled for.
    fn opening(&self) -> Option<u8> {
        let kinds = INGREDIENTS.into_iter().zip(self.view.opening);
        let mut sources = kinds.filter_map(|((item, tile), count)| {
            (count > 0).then(|| self.source(tile, item)).flatten()
        });
        sources.next()
    }

    /// Chooses what to bring to the counter between the two, for a partner who alone can reach the pots.
    fn supply(&self, plate: Option<u8>) -> Option<u8> {
        let shared = |item: Option<Item>| {
            i16::try_from(
                self.view
                    .cells()
                    .filter(|cell| self.shared(*cell) && self.view.item_on(*cell) == item)
                    .count(),
            )
            .unwrap_or(0)
        };
        let free = shared(None);
        let plate = plate.filter(|_| free > 0 && self.plates_wanted() > shared(Some(Item::Plate)));
        // One place stays free for the plate that a soup will need.
        let between = || INGREDIENTS.map(|(item, _)| shared(Some(item)));
        let ingredient = || (free > 1).then(|| self.ingredient(Some(between())));
        plate.or_else(|| ingredient().flatten())
    }

    fn with_ingredient(&self, kind: usize) -> Option<Goal> {
        if !self.cooks() {
            return self.handover().map(Goal::Use);
        }
        if let Some(pot) = self.open_pot(kind) {
            return Some(Goal::Use(pot));
        }
        let wants_other =
            |pot: &Pot| pot.missing_ingredients() > 0 && self.cost(pot.cell).is_some();
        if self.view.pots().any(wants_other) || self.view.opening[kind] == 0 || self.must_start() {
            return self.put_down();
        }
        let plate = self.source(Tile::Plates, Item::Plate)?;
        // If two cooks have ingredients, the one nearer to the plates goes.
        let mine = self.partner != self.view.own.held || self.nearer_than_partner(plate);
        if self.plates_wanted() > 0 && mine {
            self.put_down()
        } else {
            None
        }
    }

    /// A pot that wants an ingredient: the one that misses least.
    fn open_pot(&self, kind: usize) -> Option<u8> {
        let open = self.view.pots().filter(|pot| pot.wants[kind] > 0);
        let reached = open
            .filter_map(|pot| Some((pot.missing_ingredients(), self.cost(pot.cell)?, pot.cell)));
        reached.min().map(|(_, _, pot)| pot)
    }

    /// Checks whether a pot waits for empty hands, and the partner has none.
    fn must_start(&self) -> bool {
        self.start().is_some() && (self.alone || self.view.other.held.is_some())
    }

    fn with_plate(&self) -> Option<Goal> {
        if !self.cooks() {
            return self.handover().map(Goal::Use);
        }
        let soups = self.view.pots().filter(|pot| pot.ready || pot.cooking);
        let reached = soups.filter_map(|pot| {
            Some((
                if pot.ready { 0 } else { pot.left },
                self.cost(pot.cell)?,
                pot,
            ))
        });
        let Some((_, cost, pot)) = reached.min_by_key(|(left, cost, _)| (*left, *cost)) else {
            let will_cook = self.start().is_some() && !self.must_start();
            return if will_cook { None } else { self.put_down() };
        };
        let rival = self.partner == Some(Item::Plate)
            && self.soups() < 2
            && !self.nearer_than_partner(pot.cell);
        if rival {
            self.put_down()
        } else if pot.ready {
            Some(Goal::Use(pot.cell))
        } else if u16::from(pot.left) <= 3 * cost + 4 {
            Some(Goal::Face(pot.cell))
        } else {
            None
        }
    }

    fn put_down(&self) -> Option<Goal> {
        self.nearest(|cell| {
            self.view.tile(cell) == Tile::Counter && self.view.item_on(cell).is_none()
        })
        .map(Goal::Use)
    }

    /// The nearest free place on a counter that the partner reaches too.
    fn handover(&self) -> Option<u8> {
        self.nearest(|cell| self.shared(cell) && self.view.item_on(cell).is_none())
    }

    /// Checks whether a counter lies between the two cooks.
    fn shared(&self, cell: u8) -> bool {
        let reached = |map: &Map| neighbours(cell).any(|(_, next)| map[usize::from(next)] != NONE);
        self.view.tile(cell) == Tile::Counter && reached(self.free) && reached(&self.theirs)
    }

    /// Checks whether the cook reaches a pot.
    fn cooks(&self) -> bool {
        self.view.pots().any(|pot| self.steps(pot.cell).is_some())
    }

    /// Soups that cook or are ready.
    fn soups(&self) -> i16 {
        i16::try_from(
            self.view
                .pots()
                .filter(|pot| pot.ready || pot.cooking)
                .count(),
        )
        .unwrap_or(0)
    }

    fn plates_wanted(&self) -> i16 {
        self.soups() - i16::from(self.partner == Some(Item::Plate))
    }

    fn source(&self, tile: Tile, item: Item) -> Option<u8> {
        self.nearest(|cell| self.view.tile(cell) == tile || self.view.item_on(cell) == Some(item))
    }

    fn nearest(&self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        let reached = self
            .view
            .cells()
            .filter(|cell| wanted(*cell))
            .filter_map(|cell| Some((self.cost(cell)?, cell)));
        reached.min().map(|(_, cell)| cell)
    }

    /// Steps until the cook can use a cell that does what it seems to do.
    fn cost(&self, cell: u8) -> Option<u16> {
        (self.view.barred != Some(cell))
            .then(|| self.steps(cell))
            .flatten()
    }

    /// Steps until the cook can use a cell.
    fn steps(&self, cell: u8) -> Option<u16> {
        let best = |map: &Map| {
            neighbours(cell)
                .map(|(_, next)| map[usize::from(next)])
                .min()
                .filter(|steps| *steps != NONE)
        };
        best(self.around)
            .map(u16::from)
            .or_else(|| best(self.free).map(|steps| u16::from(steps) + DETOUR))
    }

    /// Checks whether the cook is nearer to a cell than the partner; the lower seat wins a draw.
    fn nearer_than_partner(&self, cell: u8) -> bool {
        let steps = |map: &Map| {
            neighbours(cell)
                .map(|(_, next)| map[usize::from(next)])
                .min()
                .unwrap_or(NONE)
        };
        let (own, theirs) = (steps(self.free), steps(&self.theirs));
        own < theirs || (own == theirs && self.seat == 0)
    }
}
