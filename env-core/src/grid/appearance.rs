//! How a grid looks and what its agents and things are called: no rule, state, observation or digest depends on it, so a
//! study can vary it and still compare what people do.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::refusal::refuse;
use super::tables::Tables;
use crate::MAX_SEATS;
use crate::contract::ParamError;

/// The most letters of a name, so that it fits below an agent.
const MAX_NAME: usize = 12;

/// The parameter `appearance` of every grid world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Appearance {
    /// The look of the agent of each seat, 0 to 15: its colour, pattern and hat. A seat that is left out has its own number.
    pub agents: Vec<u8>,
    /// The name of the agent of each seat, in pictures and words. A seat that is left out has none.
    pub names: Vec<String>,
    /// For a kind, by its name, the kind whose picture and words it gets.
    pub kinds: BTreeMap<String, String>,
}

impl Appearance {
    /// Dresses the kinds of a world.
    ///
    /// # Errors
    /// [`ParamError`] for a seat, a name or a kind that cannot be.
    pub(super) fn dress_kinds(&self, tables: &mut Tables) -> Result<(), ParamError> {
        self.check(tables.seats)?;
        let plain = tables.kinds.clone();
        for (name, other) in &self.kinds {
            let field = format!("appearance.kinds.{name}");
            let (id, like) = (
                tables.find_kind(name, &field)?,
                tables.find_kind(other, &field)?,
            );
            let kind = &mut tables.kinds[usize::from(id) - 1];
            let like = &plain[usize::from(like) - 1];
            (kind.sprite, kind.on) = (like.sprite.clone(), like.on.clone());
            (kind.inside, kind.lit) = (like.inside.clone(), like.lit.clone());
            (kind.color, kind.words) = (like.color, like.words.clone());
        }
        Ok(())
    }

    /// Checks looks and names for this many seats.
    ///
    /// # Errors
    /// [`ParamError`] for a seat or a name that cannot be.
    pub(crate) fn check(&self, seats: usize) -> Result<(), ParamError> {
        let too_many =
            |field: &str| refuse(field, format!("must have at most {seats}: one a seat"));
        if self.agents.len() > seats {
            return too_many("appearance.agents");
        }
        if let Some(look) = self
            .agents
            .iter()
            .find(|look| usize::from(**look) >= MAX_SEATS)
        {
            let reason = format!("there is no look {look}: take 0 to {}", MAX_SEATS - 1);
            return refuse("appearance.agents", reason);
        }
        if self.names.len() > seats {
            return too_many("appearance.names");
        }
        for (seat, name) in self.names.iter().enumerate() {
            let field = format!("appearance.names[{seat}]");
            let letters = name.chars().count();
            let is_clean = name.trim() == name && !name.chars().any(char::is_control);
            if !(1..=MAX_NAME).contains(&letters) || !is_clean {
                return refuse(&field, format!("must have 1 to {MAX_NAME} letters"));
            }
            if self.names[..seat].contains(name) {
                return refuse(
                    &field,
                    format!("`{name}` is the name of another seat already"),
                );
            }
        }
        Ok(())
    }

    /// The look of the agent of a seat.
    pub(crate) fn look_of(&self, seat: usize) -> usize {
        self.agents
            .get(seat)
            .map_or(seat, |look| usize::from(*look))
    }

    /// The name of the agent of a seat, if it has one.
    pub(crate) fn name(&self, seat: usize) -> Option<&str> {
        self.names.get(seat).map(String::as_str)
    }
}
