//! Errands: the one thing that a cook does after a directive, instead of everything that the kitchen needs.

use super::{Goal, Item, Plan, Tile};

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cook) enum Errand {
    /// To take an onion, and to hold it.
    FetchOnion,
    /// To take a plate, and to hold it.
    FetchPlate,
    /// To bring ingredients to the pots until they are full and cook.
    FillPot,
    /// To put a soup onto a plate, and to deliver it.
    ServeSoup,
    /// To put down the thing in the hands.
    PutDown,
    /// To stay out of the way.
    Wait,
}

/// Every errand with its word in the name of a policy, and its meaning for people and language models.
pub(in crate::cook) const ERRANDS: [(&str, &str, Errand); 6] = [
    (
        "fetch_onion",
        "take an onion and hold it",
        Errand::FetchOnion,
    ),
    (
        "fetch_plate",
        "take a plate and hold it",
        Errand::FetchPlate,
    ),
    (
        "fill_pot",
        "bring onions to the pots until they are full",
        Errand::FillPot,
    ),
    (
        "serve_soup",
        "put a soup onto a plate and deliver it",
        Errand::ServeSoup,
    ),
    ("put_down", "put down what the hands hold", Errand::PutDown),
    ("wait", "stay out of the way", Errand::Wait),
];

impl Errand {
    /// The errand of a word.
    pub(in crate::cook) fn find(word: &str) -> Option<Self> {
        let found = ERRANDS.into_iter().find(|(name, ..)| *name == word);
        found.map(|(.., errand)| errand)
    }
}

impl Plan<'_> {
    /// The next step of an errand; to wait once it is done, or while nothing can be done for it.
    pub(in crate::cook) fn errand_goal(&self, errand: Errand) -> Goal {
        let goal = match errand {
            Errand::FetchOnion => self.hold(Tile::Onions, Item::Onion),
            Errand::FetchPlate => self.hold(Tile::Plates, Item::Plate),
            Errand::FillPot => self.fill_pot(),
            Errand::ServeSoup => self.serve_soup(),
            Errand::PutDown => self.view.own.held.and_then(|_| self.put_down()),
            Errand::Wait => None,
        };
        goal.unwrap_or(Goal::Wait)
    }

    /// Returns whether something can be done for an errand now, or is done already.
    pub(in crate::cook) fn can_do(&self, errand: Errand) -> bool {
        let held = self.view.own.held;
        let is_done = match errand {
            Errand::Wait => true,
            Errand::FetchOnion => held == Some(Item::Onion),
            Errand::FetchPlate => held == Some(Item::Plate),
            // A plate in the hands waits for the soup that cooks.
            Errand::ServeSoup => held == Some(Item::Plate) && self.soups() > 0,
            Errand::FillPot | Errand::PutDown => false,
        };
        is_done || self.errand_goal(errand) != Goal::Wait
    }

    fn hold(&self, tile: Tile, item: Item) -> Option<Goal> {
        match self.view.own.held {
            None => self.source(tile, item).map(Goal::Use),
            Some(held) if held == item => None,
            Some(_) => self.put_down(),
        }
    }

    fn fill_pot(&self) -> Option<Goal> {
        let kind = match self.view.own.held {
            None => {
                self.any_open()?;
                let next = self.start().or_else(|| self.ingredient(None));
                return next.or_else(|| self.opening()).map(Goal::Use);
            }
            Some(Item::Onion) => 0,
            Some(Item::Tomato) => 1,
            Some(_) => return self.any_open().and_then(|()| self.put_down()),
        };
        match self.open_pot(kind) {
            Some(pot) => Some(Goal::Use(pot)),
            None => self.any_open().and_then(|()| self.put_down()),
        }
    }

    /// Something if a pot within reach is not full or does not cook.
    fn any_open(&self) -> Option<()> {
        let mut open = self
            .view
            .pots()
            .filter(|pot| pot.missing_ingredients() > 0 || pot.starts);
        open.any(|pot| self.cost(pot.cell).is_some()).then_some(())
    }

    fn serve_soup(&self) -> Option<Goal> {
        let lying = || self.nearest(|cell| self.view.item_on(cell) == Some(Item::Soup));
        match self.view.own.held {
            Some(Item::Soup) => {
                let delivery = self.nearest(|cell| self.view.tile(cell) == Tile::Delivery);
                delivery.map(Goal::Use)
            }
            Some(Item::Plate) => self.ready_pot(),
            Some(_) => self.put_down(),
            None if lying().is_some() => lying().map(Goal::Use),
            None if self.soups() == 0 => self.start().map(Goal::Use),
            None => self.source(Tile::Plates, Item::Plate).map(Goal::Use),
        }
    }

    /// A pot whose soup is ready; the place before the next one while it cooks.
    fn ready_pot(&self) -> Option<Goal> {
        let soups = self.view.pots().filter(|pot| pot.ready || pot.cooking);
        let reached = soups.filter_map(|pot| {
            let left = if pot.ready { 0 } else { pot.left };
            Some((left, self.cost(pot.cell)?, pot))
        });
        let (.., pot) = reached.min_by_key(|(left, cost, _)| (*left, *cost))?;
        Some(match pot.ready {
            true => Goal::Use(pot.cell),
            false => Goal::Face(pot.cell),
        })
    }
}
