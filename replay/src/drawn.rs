//! The states of an episode as they are drawn, one after the other, for videos.

use archive::{ReplayError, Replica, open_past_episode, replay_from};
use env_core::draw::DrawList;
use protocol::log::Log;

/// Sprites of an environment: names and SVG documents.
pub type Sprites = Vec<(String, String)>;

/// An episode whose states are drawn.
pub struct DrawnEpisode<'a> {
    log: &'a Log,
    /// At the first state.
    replica: Replica,
    sprites: Sprites,
}

impl<'a> DrawnEpisode<'a> {
    /// Opens the environment of an episode; `stored` reads modules and models by their SHA-256.
    ///
    /// # Errors
    /// [`ReplayError`] if the environment cannot be opened here.
    pub fn open(
        log: &'a Log,
        stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + Clone + 'static,
    ) -> Result<Self, ReplayError> {
        let (replica, sprites) = open_past_episode(log, stored)?;
        let sprites = sprites.into_iter();
        Ok(Self {
            log,
            replica,
            sprites: sprites.map(|sprite| (sprite.name, sprite.svg)).collect(),
        })
    }

    /// The sprites that the lists name.
    pub fn sprites(&self) -> &Sprites {
        &self.sprites
    }

    /// The number of its seats.
    pub fn count_seats(&self) -> usize {
        self.log.count_seats()
    }

    /// The ticks that were played: there is one state more.
    pub fn ticks(&self) -> u32 {
        self.log.through.0
    }

    /// States a second; of an episode that was played in turns one, as turns take as long as people think.
    pub fn states_hz(&self) -> u16 {
        match self.log.header.rules.turns {
            true => 1,
            false => self.log.header.tick_hz.max(1),
        }
    }

    /// Goes through the episode, and draws the first state and the state after each tick, as a seat sees it, or all of it.
    ///
    /// # Errors
    /// [`ReplayError`] if the log cannot be simulated here, or comes out differently.
    pub fn draw(
        mut self,
        view: Option<usize>,
        mut each: impl FnMut(u32, &DrawList),
    ) -> Result<(), ReplayError> {
        let mut list = DrawList::default();
        self.replica.world().draw(view, &mut list);
        each(0, &list);
        replay_from(self.replica, self.log, |_, replica: &mut Replica| {
            let ticks = replica.ticks().0;
            replica.world().draw(view, &mut list);
            each(ticks, &list);
        })?;
        Ok(())
    }
}
