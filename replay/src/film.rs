//! A film: the pictures of a part of an episode in one view, and nothing else of it.
//!
//! It goes to participants, so it names nobody, and says neither who played the seats nor what they did with their keys.

use std::collections::BTreeSet;

use archive::{ReplayError, Replica, open_past_episode, replay_from};
use env_core::World;
use env_core::draw::DrawList;
use protocol::Seat;
use protocol::log::Log;
use serde::Serialize;

use crate::page::pack;
use crate::pictures::{PictureStream, PictureTable, encode_differences};

/// The part of an episode, and the view, that a film shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilmOrder {
    /// The seat whose view it is; `None` for the whole world.
    pub view: Option<Seat>,
    /// The seat that is pointed out in the picture.
    pub own: Option<Seat>,
    /// The second of the episode at which it begins.
    pub from_s: u32,
    /// The second at which it ends; `None` for the end of the episode.
    pub to_s: Option<u32>,
}

/// The pictures of a part of an episode. Its JSON is what pages read.
#[derive(Debug, Serialize)]
pub struct Film {
    /// Ticks a second.
    hz: u16,
    /// The first tick that is shown.
    first: u32,
    /// The last tick that is shown.
    end: u32,
    /// The seat that is pointed out.
    own: Option<u8>,
    /// SVG documents by their index; those that are never shown are empty.
    sprites: Vec<String>,
    table: PictureTable,
    /// The picture after each tick from the first one on: its number less that of the one before.
    pictures: Vec<i64>,
}

impl Film {
    /// Computes a film of an episode; `stored` reads modules and models by their SHA-256.
    ///
    /// # Errors
    /// [`ReplayError`] if the log cannot be simulated here, or comes out differently.
    pub fn compute_film(
        log: &Log,
        stored: impl Fn(&str) -> std::io::Result<Vec<u8>> + Send + Clone + 'static,
        order: FilmOrder,
    ) -> Result<Self, ReplayError> {
        // Turns take as long as people think: a film shows one each second.
        let hz = log.header.tick_hz.max(1);
        let tick_at = |second: u32| second.saturating_mul(u32::from(hz)).min(log.through.0);
        let (first, end) = (
            tick_at(order.from_s),
            tick_at(order.to_s.unwrap_or(u32::MAX)),
        );
        let (mut replica, sprites) = open_past_episode(log, stored)?;
        let mut reel = Reel::new(order.view);
        if first == 0 {
            reel.draw(replica.world());
        }
        replay_from(replica, log, |_, replica: &mut Replica| {
            if (first..=end).contains(&replica.ticks().0) {
                reel.draw(replica.world());
            }
        })?;
        let Reel {
            table, pictures, ..
        } = reel;
        let shown: BTreeSet<u16> = table.sprites().collect();
        let sprites = (0..).zip(sprites);
        let sprites = sprites.map(|(index, sprite)| match shown.contains(&index) {
            true => sprite.svg,
            false => String::new(),
        });
        Ok(Self {
            hz,
            first,
            end,
            own: order.own.map(|seat| seat.0),
            sprites: sprites.collect(),
            table,
            pictures: encode_differences(&pictures),
        })
    }

    /// The first and the last tick that is shown.
    pub fn ticks(&self) -> (u32, u32) {
        (self.first, self.end)
    }

    /// Its JSON, as a stream of zlib.
    pub fn pack(&self) -> Vec<u8> {
        pack(self)
    }
}

/// Pictures on their way into a film.
struct Reel {
    view: Option<usize>,
    table: PictureTable,
    stream: PictureStream,
    list: DrawList,
    pictures: Vec<u32>,
}

impl Reel {
    fn new(view: Option<Seat>) -> Self {
        Self {
            view: view.map(Seat::index),
            table: PictureTable::default(),
            stream: PictureStream::default(),
            list: DrawList::default(),
            pictures: Vec::new(),
        }
    }

    fn draw(&mut self, world: &mut dyn World) {
        world.draw(self.view, &mut self.list);
        self.pictures
            .push(self.table.add_picture(&mut self.stream, &self.list));
    }
}

#[cfg(test)]
mod tests {
    use archive::fixtures::{PERSON, ai_controller, header, no_modules, play_episode};
    use protocol::Tick;
    use protocol::log::{LogWriter, Record, read_log};
    use serde_json::Value;

    use super::*;

    fn log() -> Log {
        let header = header([PERSON, ai_controller("cook")], 120);
        let (mut writer, mut bytes) = LogWriter::begin(&header).unwrap();
        let (first, rows) = (Tick(0), play_episode(&header).rows);
        writer
            .append(&Record::Actions { first, rows }, &mut bytes)
            .unwrap();
        read_log(&bytes).unwrap()
    }

    fn film(from_s: u32, to_s: Option<u32>) -> (Film, Value) {
        let order = FilmOrder {
            view: Some(Seat(0)),
            own: Some(Seat(0)),
            from_s,
            to_s,
        };
        let film = Film::compute_film(&log(), no_modules, order).unwrap();
        let packed = miniz_oxide::inflate::decompress_to_vec_zlib(&film.pack()).unwrap();
        let json = serde_json::from_slice(&packed).unwrap();
        (film, json)
    }

    fn numbers(json: &Value) -> Vec<i64> {
        let mut sum = 0;
        let pictures = json["pictures"].as_array().unwrap().iter();
        let sums = pictures.map(|it| {
            sum += it.as_i64().unwrap();
            sum
        });
        sums.collect()
    }

    #[test]
    fn a_film_has_a_picture_for_each_tick_of_its_part() {
        let (film, json) = film(0, None);
        assert_eq!((film.ticks(), numbers(&json).len()), ((0, 120), 121));
        let (part, json) = self::film(2, Some(5));
        let hz = u32::from(log().header.tick_hz);
        assert_eq!(part.ticks(), (2 * hz, 5 * hz));
        assert_eq!(numbers(&json).len() as u32, 3 * hz + 1);
        let (past, json) = self::film(9_000, None);
        assert_eq!((past.ticks(), numbers(&json).len()), ((120, 120), 1));
    }

    #[test]
    fn a_film_says_neither_who_played_nor_what_they_pressed() {
        let (_, json) = film(0, None);
        let text = json.to_string();
        for named in ["P-A", "P-B", "G-1", "e-1", "cook", "seed", "1700000000"] {
            assert!(!text.contains(named), "{named}");
        }
    }
}
