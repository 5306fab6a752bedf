//! The kitchens by name, as texts in the formats of the originals.

mod onions;
mod orders;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::params::Dialect;

/// A kitchen with its name; its rows are separated by `/`.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name, as in the original.
    pub name: &'static str,
    grid: &'static str,
    orders: &'static str,
    bonus: &'static str,
    more: &'static str,
    /// True if the second start in reading order is seat 0's.
    pub swapped: bool,
}

/// A kitchen; its orders are a letter an ingredient, with a blank between two orders.
const fn named(name: &'static str, grid: &'static str, orders: &'static str) -> Named {
    Named {
        name,
        grid,
        orders,
        bonus: "",
        more: "",
        swapped: false,
    }
}

impl Named {
    const fn bonus(mut self, bonus: &'static str) -> Self {
        self.bonus = bonus;
        self
    }

    const fn more(mut self, more: &'static str) -> Self {
        self.more = more;
        self
    }

    const fn swapped(mut self) -> Self {
        self.swapped = true;
        self
    }

    /// The kitchen in the file format of the original.
    pub fn text(&self, rules: Dialect) -> String {
        let grid = self.grid.replace('/', "\n");
        match rules {
            Dialect::Jaxmarl | Dialect::Cec => grid,
            Dialect::Neurips2019 => format!("{{'grid': '''{grid}''', 'start_order_list': None}}"),
            _ => format!(
                "{{'grid': '''{grid}''', 'start_all_orders': [{}], 'start_bonus_orders': [{}], {}}}",
                recipes(self.orders),
                recipes(self.bonus),
                self.more
            ),
        }
    }
}

/// Orders as a layout file has them.
fn recipes(orders: &str) -> String {
    let word = |letter: char| if letter == 'o' { "'onion'" } else { "'tomato'" };
    let recipe = |order: &str| {
        let words: Vec<&str> = order.chars().map(word).collect();
        format!("{{'ingredients': [{}]}}", words.join(", "))
    };
    let all: Vec<String> = orders.split_whitespace().map(recipe).collect();
    all.join(", ")
}

/// The kitchens that come with the original of these rules.
pub fn named_kitchens(rules: Dialect) -> impl Iterator<Item = &'static Named> + Clone {
    let lists: [&[Named]; 2] = match rules {
        Dialect::New => [orders::PACKAGE, &[]],
        Dialect::Old => [orders::PACKAGE, orders::FORK],
        Dialect::Zsc => [orders::PACKAGE, orders::ZSC],
        Dialect::Neurips2019 => [onions::NEURIPS2019, &[]],
        Dialect::Jaxmarl => [onions::JAXMARL, &[]],
        Dialect::Cec => [onions::CEC, &[]],
    };
    lists.into_iter().flatten()
}
